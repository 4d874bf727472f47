{{- define "opentill.fullname" -}}
{{- if contains "opentill" .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- else -}}{{ printf "%s-opentill" .Release.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "opentill.labels" -}}
app.kubernetes.io/name: opentill
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "opentill.selector" -}}
app.kubernetes.io/name: opentill
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* Membership in a network of services.yaml, for the selectors of network policies. */}}
{{- define "opentill.member" -}}
network.opentill/{{ . }}: member
{{- end -}}

{{- define "opentill.image" -}}
{{- $digest := get .root.Values.image.digests .image -}}
{{- $reference := printf "%s/%s" .root.Values.image.prefix .image -}}
{{- if $digest }}{{ printf "%s@%s" $reference $digest }}{{ else }}{{ printf "%s:%s" $reference (.root.Values.image.tag | default .root.Chart.AppVersion) }}{{ end -}}
{{- end -}}

{{- define "opentill.inside" -}}
{{- if or .Values.trial.enabled .Values.operators.enabled }}true{{ end -}}
{{- end -}}

{{/* Set in a first installation with database and broker inside, whose set-up cannot be a hook. */}}
{{- define "opentill.isFirst" -}}
{{- if and (include "opentill.inside" .) .Release.IsInstall }}true{{ end -}}
{{- end -}}

{{/* Renderers without a release always see a first installation, and a Job cannot change: other values, another name. */}}
{{- define "opentill.setupJob" -}}
{{ include "opentill.fullname" . }}-setup
{{- if include "opentill.isFirst" . -}}
-first-{{ printf "%s %s" .Chart.AppVersion (toJson .Values) | sha256sum | trunc 8 }}
{{- end -}}
{{- end -}}

{{- define "opentill.databaseHost" -}}
{{- $name := include "opentill.fullname" . -}}
{{- if .Values.trial.enabled -}}{{ $name }}-postgres:5432
{{- else if .Values.operators.enabled -}}{{ $name }}-database-rw:5432
{{- else -}}
{{- $port := .Values.database.port -}}
{{- $hosts := list -}}
{{- range .Values.database.hosts }}{{ $hosts = append $hosts (printf "%s:%v" . $port) }}{{ end -}}
{{- join "," $hosts -}}
{{- end -}}
{{- end -}}

{{- define "opentill.databaseUrl" -}}
{{- $database := .root.Values.database -}}
{{- $certificate := ternary (printf "sslrootcert=/etc/opentill-database/%s" $database.certificate.key) "" (not (empty $database.certificate.secret)) -}}
postgres://{{ .user }}@{{ include "opentill.databaseHost" .root }}/{{ $database.name }}{{ with compact (list $database.parameters $certificate) }}?{{ join "&" . }}{{ end }}
{{- end -}}

{{- define "opentill.brokerHosts" -}}
{{- $name := include "opentill.fullname" . -}}
{{- if .Values.trial.enabled -}}{{ $name }}-rabbitmq
{{- else if .Values.operators.enabled -}}{{ $name }}-broker
{{- else -}}{{ join " " .Values.broker.hosts }}
{{- end -}}
{{- end -}}

{{/* With the port `port`, separated by commas. */}}
{{- define "opentill.brokerServers" -}}
{{- $hosts := list -}}
{{- range splitList " " (include "opentill.brokerHosts" .root) }}{{ $hosts = append $hosts (printf "%s:%v" . $.port) }}{{ end -}}
{{- join "," $hosts -}}
{{- end -}}

{{- define "opentill.brokerUrl" -}}
{{- $broker := .root.Values.broker -}}
amqp{{ if $broker.tls }}s{{ end }}://{{ .user }}@{{ include "opentill.brokerServers" (dict "root" .root "port" $broker.port) }}{{ with $broker.virtualHost }}/{{ . }}{{ end }}
{{- end -}}

{{/* Owner of the database: { secret, key, user }. */}}
{{- define "opentill.databaseAdmin" -}}
{{- $name := include "opentill.fullname" . -}}
{{- if .Values.operators.enabled -}}
{{ dict "secret" (printf "%s-database-app" $name) "key" "password" "user" "opentill" | toJson }}
{{- else -}}
{{ dict "secret" (.Values.database.admin.secret | default .Values.secrets.name) "key" .Values.database.admin.key "user" .Values.database.admin.user | toJson }}
{{- end -}}
{{- end -}}

{{- define "opentill.brokerAdmin" -}}
{{- $name := include "opentill.fullname" . -}}
{{- if .Values.operators.enabled -}}
{{ dict "secret" (printf "%s-broker-default-user" $name) "key" "password" "userKey" "username" "user" "" | toJson }}
{{- else -}}
{{ dict "secret" (.Values.broker.admin.secret | default .Values.secrets.name) "key" .Values.broker.admin.key "userKey" .Values.broker.admin.userKey "user" .Values.broker.admin.user | toJson }}
{{- end -}}
{{- end -}}

{{- define "opentill.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "opentill.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
