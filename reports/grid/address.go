package grid

import "strings"

// ArtifactsAddress is where the CI system that this process runs in shows the artifacts of
// the job, by the variables that it sets: GitHub, GitLab or Jenkins. Elsewhere it is empty.
func ArtifactsAddress(getenv func(string) string) string {
	var all [3]string
	for i, name := range []string{"GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"} {
		all[i] = getenv(name)
	}
	switch {
	case all[0] != "" && all[1] != "" && all[2] != "":
		return all[0] + "/" + all[1] + "/actions/runs/" + all[2] + "#artifacts"
	case getenv("GITLAB_CI") != "" && getenv("CI_JOB_URL") != "":
		return getenv("CI_JOB_URL") + "/artifacts/browse"
	case getenv("JENKINS_URL") != "" && getenv("BUILD_URL") != "":
		return strings.TrimSuffix(getenv("BUILD_URL"), "/") + "/artifact/"
	}
	return ""
}
