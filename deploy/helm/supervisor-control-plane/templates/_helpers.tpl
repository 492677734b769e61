{{/* One release a namespace is usual: its name is enough, cut so that suffixes fit. */}}
{{- define "svc.name" -}}
{{- if or (contains .Chart.Name .Release.Name) (contains "svc" .Release.Name) }}{{ .Release.Name | trunc 48 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name "svc" | trunc 48 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "svc.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "svc.labels" -}}
{{ include "svc.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "svc.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "svc.workerImage" -}}
{{ .Values.worker.image.repository | default .Values.image.repository }}:{{ .Values.worker.image.tag | default .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "svc.claim" -}}
{{ .Values.data.existingClaim | default (printf "%s-data" (include "svc.name" .)) }}
{{- end }}

{{- define "svc.scheme" -}}
{{ if .Values.tls.secret }}https{{ else }}http{{ end }}
{{- end }}

{{/* Where agents and probes find the api: its names inside, the host outside, and the address of the pod, by which metrics are read. */}}
{{- define "svc.hosts" -}}
{{- $name := include "svc.name" . -}}
$(POD_IP),{{ $name }},{{ $name }}.{{ .Release.Namespace }},{{ $name }}.{{ .Release.Namespace }}.svc,{{ $name }}.{{ .Release.Namespace }}.svc.cluster.local
{{- with .Values.ingress.host }},{{ . }}{{ end }}
{{- with .Values.env.SVC_ALLOWED_HOSTS }},{{ . }}{{ end }}
{{- end }}

{{/*
  The variables of every process. What comes later wins: the secret and `env` cannot change what the chart decides. Several processes behind one
  port are for what answers: a worker is one, and refuses to be more.
*/}}
{{- define "svc.env" -}}
{{- $env := omit .root.Values.env "SVC_ALLOWED_HOSTS" }}
{{- if ne .component "api" }}{{ $env = omit $env "SVC_PROCESSES" }}{{ end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
- name: POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- name: SVC_HOST
  value: 0.0.0.0
- name: SVC_PORT
  value: '8372'
- name: SVC_DATA_DIR
  value: /data
- name: SVC_ALLOWED_HOSTS
  value: {{ include "svc.hosts" .root | quote }}
{{- if .root.Values.tls.secret }}
- name: SVC_TLS_CERT
  value: /tls/tls.crt
- name: SVC_TLS_KEY
  value: /tls/tls.key
{{- end }}
{{- end }}

{{- define "svc.envFrom" -}}
- secretRef:
    name: {{ required "secret: the name of a secret with SVC_DATABASE_URL" .Values.secret }}
{{- end }}

{{- define "svc.workerEnvFrom" -}}
{{ include "svc.envFrom" . }}
{{- with .Values.worker.secret }}
- secretRef:
    name: {{ . }}
{{- end }}
{{- end }}

{{- define "svc.mounts" -}}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- if .Values.tls.secret }}
- name: tls
  mountPath: /tls
  readOnly: true
{{- end }}
{{- end }}

{{- define "svc.volumes" -}}
- name: data
  persistentVolumeClaim:
    claimName: {{ include "svc.claim" . }}
- name: tmp
  emptyDir: { sizeLimit: {{ .Values.tmp.sizeLimit }} }
{{- with .Values.tls.secret }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* Uid 1000 is `node` of the image. The root of its file system is read-only. */}}
{{- define "svc.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "svc.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/*
  What a process says of itself. /health is about the process alone: a database that is away is no reason to begin it anew. An api that does not
  reach Redis serves all the same: were it not ready, none of them would be. Probes call by the address of the pod, which its list of hosts has.
*/}}
{{- define "svc.probes" -}}
startupProbe:
  httpGet: { path: /health, port: http, scheme: {{ include "svc.scheme" .root | upper }} }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /health, port: http, scheme: {{ include "svc.scheme" .root | upper }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: {{ ternary "/ready?exclude=queue,writes" "/ready" (eq .component "api") | quote }}, port: http, scheme: {{ include "svc.scheme" .root | upper }} }
  periodSeconds: 3
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{/* Replicas on nodes of their own where there are some. */}}
{{- define "svc.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "svc.selector" . | nindent 8 }}
{{- end }}
