import { readFile, realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { VERSION } from '../../src/contract/version.js';
import { RunnerTimings } from '../../src/modules/runners/runners/runner-timings.js';

/** What needs no helm to be looked at; helm-chart.deep-spec.ts renders it. */
const at = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const CHART = 'deploy/helm/supervisor-control-plane';
const read = (file: string): Promise<string> => readFile(at(file), 'utf8');
const names = (text: string, pattern: RegExp): string[] => [...new Set(text.match(pattern) ?? [])].sort();

describe('the Helm chart', () => {
  it('has the version of the program', async () => {
    expect(parse(await read(`${CHART}/Chart.yaml`))).toMatchObject({ version: VERSION, appVersion: VERSION });
  });

  it.each(['seccomp-workers.json', 'observability/alerts.yml', 'observability/dashboard.json'])(
    'has %s of the deployment itself',
    async (file) => {
      expect(await realpath(at(`${CHART}/files/${file.split('/').pop()}`))).toBe(await realpath(at(`deploy/${file}`)));
    },
  );

  it('asks for metrics that there are, by way of the adapter', async () => {
    const asked = names((await read(`${CHART}/templates/api.yaml`)) + (await read(`${CHART}/templates/worker.yaml`)), /name: svc_\w+/g);
    const offered = names(await read('deploy/helm/prometheus-adapter.yaml'), /seriesQuery: svc_\w+/g);
    const metrics = asked.map((name) => name.replace('name: ', ''));
    expect(metrics).toEqual(['svc_queue_depth', 'svc_runner_sessions', 'svc_streams_open']);
    expect(offered.map((name) => name.replace('seriesQuery: ', ''))).toEqual(metrics);
    const sources = await Promise.all(
      ['src/platform/queue/job-queue.ts', 'src/modules/runners/runners/runner.service.ts', 'src/platform/streams/hub.ts'].map(read),
    );
    for (const [n, name] of metrics.entries()) expect(sources[n]).toContain(`name: '${name}'`);
  });

  it('lets workers write where they lock the users that they lend', async () => {
    const folder = /FOLDER = '([^']+)'/.exec(await read('src/platform/isolation/host-lock.ts'))![1]!;
    expect(await read(`${CHART}/templates/worker.yaml`)).toContain(`mountPath: ${folder}\n`);
  });

  // Guard: where every node has a taint the step waits for one that has none, and an install with it.
  it('migrates on nodes on which the api runs', async () => {
    const migrate = await read(`${CHART}/templates/migrate.yaml`);
    for (const said of ['nodeSelector', 'tolerations'])
      expect(migrate).toContain(`{{- with .Values.api.${said} }}\n      ${said}: {{- toYaml . | nindent 8 }}\n`);
  });

  // Guard: a worker that is told to be several does not start.
  it('has several processes behind one port for what answers alone', async () => {
    const helpers = await read(`${CHART}/templates/_helpers.tpl`);
    const left = '{{- if ne .component "api" }}{{ $env = omit $env "SVC_PROCESSES" }}{{ end }}';
    expect(helpers).toContain(`${left}\n{{- range $name, $value := $env }}`);
  });

  // Guard: where users are the walls no agent can read the authority that it is to trust, so that none reaches the API.
  it('shows agents the authority, as the rendered chart does', async () => {
    expect(await read(`${CHART}/templates/worker.yaml`)).toContain(
      'defaultMode: 0444\n            items: [{ key: ca.crt, path: ca.crt }]\n',
    );
  });

  it('leaves workers the time that they take to end in order', async () => {
    const { properties } = JSON.parse(await read(`${CHART}/values.schema.json`)) as {
      properties: { worker: { properties: { terminationGracePeriodSeconds: { minimum: number } } } };
    };
    const lifecycle = await read('src/platform/health/lifecycle.ts');
    const phases = /SHUTDOWN_PHASES = \[([^\]]*)\]/.exec(lifecycle)![1]!.match(/'\w+'/g)!.length;
    const phaseMs = Number(/PHASE_LIMIT_MS = ([\d_]+)/.exec(lifecycle)![1]!.replace('_', ''));
    const mostMs = new RunnerTimings().handoverLimitMs + (phases - 1) * phaseMs;
    expect(properties.worker.properties.terminationGracePeriodSeconds.minimum * 1_000).toBeGreaterThanOrEqual(mostMs);
  });

  it('sets variables that there are', async () => {
    const known = await read('docs/reference/environment.md');
    const files = ['_helpers.tpl', 'api.yaml', 'worker.yaml', 'migrate.yaml'].map((file) => read(`${CHART}/templates/${file}`));
    const set = names((await Promise.all([...files, read(`${CHART}/values.yaml`)])).join('\n'), /\bSVC_[A-Z_]+[A-Z]\b/g);
    expect(set.length).toBeGreaterThan(10);
    for (const name of set) expect(known).toContain(`id="${name}`);
  });
});
