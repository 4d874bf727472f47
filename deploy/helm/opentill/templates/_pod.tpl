{{/*
Parts of a pod, from its entry in files/services.yaml.
  root, name    the chart, and the entry
  spec          the entry
  values        values of the service: env, resources, …
  chains        of a scanner; undefined for others
*/}}

{{- define "opentill.spec" -}}
{{ get (.root.Files.Get "files/services.yaml" | fromYaml) .name | toJson }}
{{- end -}}

{{/* Names of the endpoint variables that the pod gets: those of its chains, or all. */}}
{{- define "opentill.isOwnEndpoint" -}}
{{- $chain := regexReplaceAll "_(RPC_URLS|SOLIDITY_URLS|WS_URL)$" .variable "" -}}
{{- if or (not .chains) (has $chain .chains) }}true{{ end -}}
{{- end -}}

{{- define "opentill.env" -}}
{{- $root := .root -}}
{{- $spec := .spec -}}
{{- $chains := .chains -}}
{{- $own := .values.env | default dict -}}
{{- range $variable, $value := $spec.environment }}
- { name: {{ $variable }}, value: {{ $value | quote }} }
{{- end }}
{{- range $variable := $spec.settings }}
{{- $value := get $root.Values.settings $variable }}
{{- if and (eq $variable "RATE_LIMIT_STORE") (eq $value "") (or (gt (int $root.Values.api.replicas) 1) $root.Values.api.autoscaling.enabled) }}
{{- $value = "postgres" }}
{{- end }}
{{- if and (ne (toString $value) "") (not (hasKey $own $variable)) }}
- { name: {{ $variable }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
{{- if include "opentill.hasTraceHeaders" . }}
- { name: OTEL_EXPORTER_OTLP_HEADERS_FILE, value: /run/secrets/otel_exporter_otlp_headers }
{{- end }}
{{- with $spec.database }}
- { name: DATABASE_URL, value: {{ include "opentill.databaseUrl" (dict "root" $root "user" .user) | quote }} }
- { name: DATABASE_PASSWORD_FILE, value: /run/secrets/{{ .password }} }
{{- end }}
{{- with $spec.broker }}
- { name: AMQP_URL, value: {{ include "opentill.brokerUrl" (dict "root" $root "user" .user) | quote }} }
- { name: AMQP_PASSWORD_FILE, value: /run/secrets/{{ .password }} }
{{- end }}
{{- if has "networks" ($spec.mounts | default list) }}
- { name: NETWORKS_FILE, value: /etc/opentill/networks.json }
{{- end }}
{{- if has "publicKeys" ($spec.mounts | default list) }}
- { name: PUBLIC_KEYS_FILE, value: /var/lib/opentill/public/public-keys.json }
{{- end }}
{{- if $chains }}
- { name: CHAINS, value: {{ join "," $chains | quote }} }
{{- end }}
{{- if $spec.endpoints }}
{{- range $variable := $root.Values.endpoints.keys }}
{{- if include "opentill.isOwnEndpoint" (dict "variable" $variable "chains" $chains) }}
- { name: {{ $variable }}_FILE, value: /run/endpoints/{{ $variable }} }
{{- end }}
{{- end }}
{{- range $variable, $value := $root.Values.endpoints.values }}
{{- if include "opentill.isOwnEndpoint" (dict "variable" $variable "chains" $chains) }}
- { name: {{ $variable }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- if $root.Values.certificates.secret }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/opentill-certificates/{{ $root.Values.certificates.key }} }
{{- end }}
{{- range $variable, $value := $own }}
- { name: {{ $variable }}, value: {{ $value | quote }} }
{{- end }}
{{- end -}}

{{/* Keys of the Secret that the pod may read. */}}
{{- define "opentill.secretKeys" -}}
{{- $keys := .secrets | default list -}}
{{- with .database }}{{ $keys = append $keys .password }}{{ end -}}
{{- with .broker }}{{ $keys = append $keys .password }}{{ end -}}
{{ sortAlpha $keys | toJson }}
{{- end -}}

{{- define "opentill.hasEndpointSecret" -}}
{{- if and .spec.endpoints .root.Values.endpoints.secret .root.Values.endpoints.keys }}
{{- $found := false }}
{{- range .root.Values.endpoints.keys }}
{{- if include "opentill.isOwnEndpoint" (dict "variable" . "chains" $.chains) }}{{ $found = true }}{{ end }}
{{- end }}
{{- if $found }}true{{ end }}
{{- end }}
{{- end -}}

{{- define "opentill.hasTraceHeaders" -}}
{{- if and .root.Values.traces.headersSecret (has "OTEL_EXPORTER_OTLP_ENDPOINT" .spec.settings) }}true{{ end }}
{{- end -}}

{{- define "opentill.volumeMounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: secrets, mountPath: /run/secrets, readOnly: true }
{{- if has "networks" (.spec.mounts | default list) }}
- { name: networks, mountPath: /etc/opentill, readOnly: true }
{{- end }}
{{- if has "publicKeys" (.spec.mounts | default list) }}
- { name: public-keys, mountPath: /var/lib/opentill/public, readOnly: true }
{{- end }}
{{- if include "opentill.hasEndpointSecret" . }}
- { name: endpoints, mountPath: /run/endpoints, readOnly: true }
{{- end }}
{{- if .root.Values.certificates.secret }}
- { name: certificates, mountPath: /etc/opentill-certificates, readOnly: true }
{{- end }}
{{- if .root.Values.database.certificate.secret }}
- { name: database-certificate, mountPath: /etc/opentill-database, readOnly: true }
{{- end }}
{{- end -}}

{{/* `sources`: further sources of /run/secrets, as a list. */}}
{{- define "opentill.volumes" -}}
{{- $root := .root -}}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- with include "opentill.secretKeys" .spec | fromJsonArray }}
      - secret:
          name: {{ $root.Values.secrets.name }}
          items:
            {{- range . }}
            - { key: {{ . }}, path: {{ . }} }
            {{- end }}
      {{- end }}
      {{- with .sources }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- if include "opentill.hasTraceHeaders" . }}
      - secret:
          name: {{ $root.Values.traces.headersSecret }}
          items: [{ key: otel_exporter_otlp_headers, path: otel_exporter_otlp_headers }]
      {{- end }}
{{- if has "networks" (.spec.mounts | default list) }}
- name: networks
  configMap: { name: {{ $root.Values.networks.configMap }} }
{{- end }}
{{- if has "publicKeys" (.spec.mounts | default list) }}
- name: public-keys
  secret:
    secretName: {{ $root.Values.publicKeys.secret }}
    defaultMode: 0440
    items: [{ key: public-keys.json, path: public-keys.json }]
{{- end }}
{{- if include "opentill.hasEndpointSecret" . }}
- name: endpoints
  secret:
    secretName: {{ $root.Values.endpoints.secret }}
    defaultMode: 0440
    items:
      {{- range $root.Values.endpoints.keys }}
      {{- if include "opentill.isOwnEndpoint" (dict "variable" . "chains" $.chains) }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
      {{- end }}
{{- end }}
{{- if $root.Values.certificates.secret }}
- name: certificates
  secret:
    secretName: {{ $root.Values.certificates.secret }}
    items: [{ key: {{ $root.Values.certificates.key }}, path: {{ $root.Values.certificates.key }} }]
{{- end }}
{{- with $root.Values.database.certificate }}
{{- if .secret }}
- name: database-certificate
  secret:
    secretName: {{ .secret }}
    items: [{ key: {{ .key }}, path: {{ .key }} }]
{{- end }}
{{- end }}
{{- end -}}

{{/* The volume of the keystore and of the files beside it that `settings` of the pod name. The passphrase is not in it. */}}
{{- define "opentill.keystoreVolume" -}}
{{- $keys := list "keystore.json" -}}
{{- range list "POLICY_FILE" "ENERGY_SELLER_KEY_FILE" -}}
{{- $path := get $.root.Values.settings . -}}
{{- if and $path (has . $.spec.settings) }}{{ $keys = append $keys (base $path) }}{{ end -}}
{{- end -}}
- name: keystore
  secret:
    secretName: {{ .root.Values.keystore.secret }}
    defaultMode: 0440
    items:
      {{- range uniq $keys }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- end -}}

{{- define "opentill.podMetadata" -}}
labels:
  {{- include "opentill.selector" . | nindent 2 }}
  {{- range .spec.networks }}
  {{- include "opentill.member" . | nindent 2 }}
  {{- end }}
  {{- if and .root.Values.settings.OTEL_EXPORTER_OTLP_ENDPOINT (has "OTEL_EXPORTER_OTLP_ENDPOINT" .spec.settings) }}
  {{- include "opentill.member" "traces" | nindent 2 }}
  {{- end }}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "opentill.placement" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* In a first installation pods start before set-up has created their database roles. */}}
{{- define "opentill.awaitLogin" -}}
- name: await-login
  image: {{ include "opentill.image" . }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  command: [node, /app/dist/await-login.js]
  env:
    {{- include "opentill.env" . | nindent 4 }}
  volumeMounts:
    {{- include "opentill.volumeMounts" . | nindent 4 }}
  resources: { requests: { cpu: 20m, memory: 64Mi }, limits: { memory: 128Mi } }
  securityContext:
    {{- include "opentill.containerSecurity" . | nindent 4 }}
{{- end -}}

{{/*
A service as a Deployment. In addition to the above:
  component, image
  autoscaled    an autoscaler sets its replicas, and Helm leaves them
  preStop       seconds from the withdrawal of the endpoints to SIGTERM
  ports         further container ports
*/}}
{{- define "opentill.service" -}}
{{- $root := .root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "opentill.fullname" $root }}-{{ .component }}
  labels:
    {{- include "opentill.labels" . | nindent 4 }}
spec:
  {{- /* A number that is read here would be old when Helm applies it: after set-up, or in a rollback. */}}
  {{- if not .autoscaled }}
  replicas: {{ .values.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  selector:
    matchLabels:
      {{- include "opentill.selector" . | nindent 6 }}
  strategy:
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  template:
    metadata:
      {{- include "opentill.podMetadata" . | nindent 6 }}
    spec:
      serviceAccountName: {{ include "opentill.fullname" $root }}-{{ .name }}
      {{- include "opentill.placement" . | nindent 6 }}
      # A service stops within 10 s of SIGTERM.
      terminationGracePeriodSeconds: {{ add 20 (.preStop | default 0) }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "opentill.selector" . | nindent 14 }}
      securityContext:
        {{- include "opentill.podSecurity" . | nindent 8 }}
      initContainers:
        {{- include "opentill.awaitLogin" . | nindent 8 }}
      containers:
        - name: {{ .name }}
          image: {{ include "opentill.image" . }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          env:
            {{- include "opentill.env" . | nindent 12 }}
          ports:
            - { name: health, containerPort: 3020 }
            {{- with .ports }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          volumeMounts:
            {{- include "opentill.volumeMounts" . | nindent 12 }}
          resources:
            {{- toYaml (.values.resources | default dict) | nindent 12 }}
          securityContext:
            {{- include "opentill.containerSecurity" . | nindent 12 }}
          {{- if .preStop }}
          lifecycle:
            preStop: { sleep: { seconds: {{ .preStop }} } }
          {{- end }}
          startupProbe:
            httpGet: { path: /livez, port: health }
            periodSeconds: 2
            timeoutSeconds: 5
            failureThreshold: 90
          livenessProbe:
            httpGet: { path: /livez, port: health }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: health }
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 3
      volumes:
        {{- include "opentill.volumes" . | nindent 8 }}
{{- end -}}
