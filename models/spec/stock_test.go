package spec_test

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

func TestStock(t *testing.T) {
	const never = spec.Never
	for _, c := range []struct {
		name  string
		stock spec.Stock
		ops   []spec.StockOp
		want  bool
	}{
		{"a take names the level that it leaves", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 2, Left: 3, Step: spec.Take}}, true},
		{"another level than that", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 2, Left: 4, Step: spec.Take}}, false},
		{"below zero", spec.Stock{Start: 1}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 2, Left: -1, Step: spec.Take}}, true},
		{"at the same moment either comes first", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 1, Left: 3, Step: spec.Take},
			{Call: 2, Return: 3, Qty: 1, Left: 4, Step: spec.Take}}, true},
		{"a moment later it does not", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 1, Left: 3, Step: spec.Take},
			{Call: 3, Return: 3, Qty: 1, Left: 4, Step: spec.Take}}, false},
		{"took happens", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 1, Step: spec.TookSome},
			{Call: 3, Return: 3, Left: 5, Step: spec.Read}}, false},
		{"may take need not", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 1, Step: spec.MayTake},
			{Call: 3, Return: 3, Left: 5, Step: spec.Read}}, true},
		{"and can be late", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 1, Step: spec.MayTake},
			{Call: 3, Return: 3, Left: 5, Step: spec.Read},
			{Call: 4, Return: 4, Left: 4, Step: spec.Read}}, true},
		{"but not before its call", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 3, Return: 3, Left: 4, Step: spec.Read},
			{Call: 4, Return: 4, Qty: 1, Step: spec.MayTake}}, false},
		{"a refusal of what is there", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 5, Step: spec.Refuse}}, false},
		{"a refusal of more", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 6, Step: spec.Refuse}}, true},
		{"restocks", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 3, Left: 8, Step: spec.Restock},
			{Call: 3, Return: 4, Qty: 2, Step: spec.RestockedSome},
			{Call: 5, Return: never, Qty: 7, Step: spec.MayRestock},
			{Call: 6, Return: 7, Left: 10, Step: spec.Read}}, true},
		{"a start that is not known", spec.Stock{Free: true}, []spec.StockOp{
			{Call: 1, Return: 1, Qty: 2, Step: spec.TookSome},
			{Call: 2, Return: 2, Qty: 1, Left: 7, Step: spec.Take},
			{Call: 3, Return: 3, Left: 7, Step: spec.Read}}, true},
		{"and its refusals", spec.Stock{Free: true}, []spec.StockOp{
			{Call: 1, Return: 1, Qty: 9, Step: spec.Refuse},
			{Call: 2, Return: 2, Qty: 2, Step: spec.TookSome},
			{Call: 3, Return: 3, Left: 7, Step: spec.Read}}, false},
		{"one more is refused", spec.Stock{Free: true}, []spec.StockOp{
			{Call: 1, Return: 1, Qty: 10, Step: spec.Refuse},
			{Call: 2, Return: 2, Qty: 2, Step: spec.TookSome},
			{Call: 3, Return: 3, Left: 7, Step: spec.Read}}, true},
	} {
		if got := porcupine.CheckOperations(c.stock.Model(), spec.StockOperations(c.ops)); got != c.want {
			t.Errorf("%s: linearizable %v, want %v", c.name, got, c.want)
		}
	}
}
