import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { CHART, Helm, type Manifest } from '../support/helm.js';

/** `deploy/helm`, linted and rendered by helm itself, and held against the schemas of Kubernetes. */
const helm = await Helm.installed();

const LEAST = { secret: 'svc' };
const isolation = (more: object): object => ({ worker: { isolation: more } });
const NEAR = {
  requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'near', operator: 'Exists' }] }] },
};
const WAYS: readonly (readonly [name: string, values: object])[] = [
  ['as it comes', LEAST],
  [
    'with everything',
    {
      ...LEAST,
      env: { SVC_AUTH: 'keys', SVC_EVENT_RETENTION: '30d', SVC_ALLOWED_HOSTS: 'old.example.com' },
      image: { repository: 'registry.example/svc', tag: '1', pullSecrets: [{ name: 'pull' }] },
      data: { existingClaim: 'cities' },
      tls: { secret: 'inside' },
      api: {
        autoscaling: { enabled: true },
        nodeSelector: { of: 'api' },
        tolerations: [{ operator: 'Exists' }],
        affinity: { nodeAffinity: NEAR },
        podAnnotations: { a: 'b' },
      },
      worker: {
        image: { repository: 'other.example/workers', tag: '2', pullSecrets: [{ name: 'other' }, { name: 'pull' }] },
        capacity: 50,
        autoscaling: { enabled: true, sessions: 45 },
        isolation: { mode: 'bubblewrap', installProfile: true, appArmorUnconfined: true, hostToml: '[runner.limits]\nmemory = "8GiB"\n' },
        nodeSelector: { of: 'agents' },
        tolerations: [{ key: 'agents', operator: 'Exists', effect: 'NoSchedule' }],
        podAnnotations: { c: 'd' },
      },
      ingress: { enabled: true, host: 'svc.example.com', tlsSecret: 'outside', annotations: { 'cert-manager.io/cluster-issuer': 'ours' } },
      networkPolicy: {
        callers: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }],
        monitoring: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
        outside: { ipv6: true },
      },
      monitoring: { serviceMonitor: true, rules: true, dashboard: true, labels: { release: 'prometheus' } },
    },
  ],
  [
    'with users as walls',
    {
      ...LEAST,
      tls: { secret: 'inside' },
      ...isolation({ mode: 'users', hostToml: '[users]\ncities = { first = 900_000_000, count = 1 }\n' }),
    },
  ],
  ['without walls and rules of the network', { ...LEAST, ...isolation({ mode: 'none' }), networkPolicy: { enabled: false } }],
];

interface Container {
  readonly name: string;
  readonly securityContext: Record<string, unknown> & { readonly capabilities: { readonly drop: string[] } };
  readonly env: { readonly name: string }[];
  readonly volumeMounts: object[];
  readonly readinessProbe: { readonly httpGet: { readonly path: string } };
}
interface Pods {
  readonly metadata: { readonly labels: Record<string, string> };
  readonly spec: Record<string, unknown> & { readonly containers: Container[] };
}
const podsOf = (manifest: Manifest): Pods | undefined => (manifest as { spec?: { template?: Pods } }).spec?.template;
const found = (manifests: readonly Manifest[], kind: string, name: string): Manifest =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name)!;

(helm === undefined ? describe.skip : describe)('the Helm chart', () => {
  describe.each(WAYS)('%s', (_, values) => {
    let manifests: Manifest[];
    it('has no fault for helm, or for the schemas', async () => {
      expect(await helm!.lint(values)).toBe('');
      manifests = await helm!.template(values);
      expect(await helm!.faults(manifests)).toEqual([]);
    });

    it('gives nobody more than he needs', () => {
      for (const manifest of manifests)
        for (const { securityContext, name } of podsOf(manifest)?.spec.containers ?? []) {
          expect([name, securityContext]).toEqual([
            name,
            expect.objectContaining({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true }),
          ]);
          expect(securityContext.capabilities.drop).toEqual(['ALL']);
          expect(podsOf(manifest)!.spec).toMatchObject({ automountServiceAccountToken: false });
        }
      expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    });

    it('selects pods that there are', () => {
      const pods = manifests.flatMap((manifest) => [podsOf(manifest)?.metadata.labels].filter((labels) => labels !== undefined));
      const selectors = manifests.flatMap(({ kind, ...rest }) => {
        const { selector, podSelector } = (rest as { spec?: { selector?: object; podSelector?: object } }).spec ?? {};
        const given = selector ?? podSelector;
        return given === undefined || kind === 'ServiceMonitor'
          ? []
          : [{ matchLabels: given, ...given }.matchLabels as Record<string, string>];
      });
      expect(selectors.length).toBeGreaterThan(5);
      for (const labels of selectors) expect(pods).toContainEqual(expect.objectContaining(labels));
    });

    it('says no variable twice', () => {
      for (const manifest of manifests)
        for (const { env = [] } of podsOf(manifest)?.spec.containers ?? []) {
          const names = env.map(({ name }) => name);
          expect(names).toEqual([...new Set(names)]);
        }
    });
  });

  // Guard: a pod whose image nobody may fetch never begins.
  it('gives each pod what its image is fetched with', async () => {
    const pods = (await helm!.template(WAYS[1]![1])).flatMap((manifest) => {
      const found = podsOf(manifest);
      return found === undefined ? [] : [[manifest.kind, found.spec.imagePullSecrets] as const];
    });
    const ours = [{ name: 'pull' }];
    expect(Object.fromEntries(pods)).toEqual({ DaemonSet: ours, Deployment: ours, Job: ours, StatefulSet: [...ours, { name: 'other' }] });
  });

  it('migrates before any pod is new, after there is a place for the first key', async () => {
    const hooks = (await helm!.template(LEAST)).flatMap(({ kind, metadata: { annotations = {} } }) =>
      annotations['helm.sh/hook'] === undefined
        ? []
        : [[kind, annotations['helm.sh/hook'], Number(annotations['helm.sh/hook-weight'])] as const],
    );
    expect(hooks).toEqual([
      ['PersistentVolumeClaim', 'pre-install', -10],
      ['Job', 'pre-install,pre-upgrade', 0],
    ]);
  });

  // Guard: where every node has a taint the step waits for one that has none, and an install with it. One api a node leaves it none.
  it('migrates on nodes on which the api runs', async () => {
    const apart = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: {} }] };
    const where = { nodeSelector: { of: 'api' }, tolerations: [{ operator: 'Exists' }] };
    const affinity = { nodeAffinity: NEAR, podAntiAffinity: apart };
    const step = found(await helm!.template({ ...LEAST, api: { ...where, affinity } }), 'Job', 'prod-svc-migrate');
    expect(podsOf(step)!.spec).toMatchObject({ ...where, affinity: { nodeAffinity: NEAR } });
    expect(podsOf(step)!.spec['affinity']).not.toHaveProperty('podAntiAffinity');
    const anywhere = found(await helm!.template({ ...LEAST, api: { affinity: null } }), 'Job', 'prod-svc-migrate');
    expect(podsOf(anywhere)!.spec).not.toHaveProperty('affinity');
  });

  // Guard: by default helm deletes what a hook has made before it makes it again: a second install had none of the cities of the first.
  it('deletes no volume that is there already', async () => {
    const claims = (await helm!.template(LEAST)).filter(({ kind }) => kind === 'PersistentVolumeClaim');
    expect(claims.map(({ metadata: { annotations } }) => annotations)).toEqual([
      expect.objectContaining({ 'helm.sh/hook-delete-policy': 'hook-failed', 'helm.sh/resource-policy': 'keep' }),
    ]);
    // Helm asks the cluster, which is not there for `helm template`.
    const template = await readFile(`${CHART}/templates/data.yaml`, 'utf8');
    expect(template).toContain('(lookup "v1" "PersistentVolumeClaim" .Release.Namespace (include "svc.claim" .))');
  });

  // Guard: an upgrade has as many replicas as it says in the place of those that an autoscaler has brought, and ends their sessions.
  it('says how many replicas there are only where no autoscaler decides', async () => {
    const replicas = async (values: object): Promise<unknown[]> =>
      (await helm!.template(values)).flatMap(({ kind, ...rest }) =>
        kind === 'Deployment' || kind === 'StatefulSet' ? [[kind, (rest as { spec?: { replicas?: number } }).spec?.replicas]] : [],
      );
    expect(await replicas({ ...LEAST, worker: { replicas: 6 } })).toEqual([
      ['Deployment', 2],
      ['StatefulSet', 6],
    ]);
    const autoscaling = { enabled: true };
    expect(await replicas({ ...LEAST, api: { autoscaling }, worker: { autoscaling } })).toEqual([
      ['Deployment', undefined],
      ['StatefulSet', undefined],
    ]);
  });

  it('lets metrics of workers be read by whoever is named, and by whoever reaches them when nobody is', async () => {
    const readers = async (networkPolicy: object): Promise<unknown[]> => {
      const policy = found(await helm!.template({ ...LEAST, networkPolicy }), 'NetworkPolicy', 'prod-svc-worker');
      const { ingress } = (policy as unknown as { spec: { ingress: { ports: { port: unknown }[]; from?: unknown }[] } }).spec;
      return ingress.filter(({ ports }) => ports.some(({ port }) => port === 'http'));
    };
    const prometheus = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
    expect(await readers({})).toEqual([{ ports: [{ port: 'http' }] }]);
    expect(await readers({ monitoring: prometheus })).toEqual([{ ports: [{ port: 'http' }], from: prometheus }]);
  });

  // Guard: on nodes with IPv6 alone no agent reached its provider.
  it('lets nobody out by IPv6 unless it says so, and then not to what is inside', async () => {
    const out = async (outside: object): Promise<unknown[]> => {
      const policy = found(await helm!.template({ ...LEAST, networkPolicy: { outside } }), 'NetworkPolicy', 'prod-svc-worker');
      const { egress } = (policy as unknown as { spec: { egress: { to?: { ipBlock?: { cidr: string; except: string[] } }[] }[] } }).spec;
      return egress.flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [[ipBlock.cidr, ipBlock.except]])));
    };
    const four = ['0.0.0.0/0', expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16'])];
    expect(await out({})).toEqual([four]);
    expect(await out({ ipv6: true })).toEqual([four, ['::/0', expect.arrayContaining(['fc00::/7', 'fe80::/10', '64:ff9b::/96'])]]);
  });

  // Guard: one agent that wrote into /tmp filled the disk of its node, and all pods that were on it were evicted.
  it('has a most for what pods write into /tmp', async () => {
    const manifests = await helm!.template({ ...LEAST, tmp: { sizeLimit: '3Gi' } });
    const limits = manifests.flatMap((manifest) => {
      const volumes = (podsOf(manifest)?.spec.volumes ?? []) as { name: string; emptyDir?: object }[];
      return volumes.flatMap(({ name, emptyDir }) => (name === 'tmp' ? [emptyDir] : []));
    });
    expect(limits).toEqual([1, 2, 3].map(() => ({ sizeLimit: '3Gi' })));
  });

  // Guard: without Redis nobody is served, though each of them serves.
  it('takes no api out of the service for what it serves without', async () => {
    const manifests = await helm!.template(LEAST);
    const asked = (kind: string, name: string): string =>
      podsOf(found(manifests, kind, name))!.spec.containers[0]!.readinessProbe.httpGet.path;
    expect([asked('Deployment', 'prod-svc-api'), asked('StatefulSet', 'prod-svc-worker')]).toEqual([
      '/ready?exclude=queue,writes',
      '/ready',
    ]);
  });

  it('gives sandboxes what they need, and only where they are', async () => {
    const worker = async (values: object): Promise<Pods['spec']> =>
      podsOf(found(await helm!.template({ ...LEAST, ...values }), 'StatefulSet', 'prod-svc-worker'))!.spec;
    const walls = await worker({});
    expect(walls).toMatchObject({ hostUsers: false, securityContext: { runAsNonRoot: true } });
    expect(walls.containers[0]!.securityContext).toMatchObject({
      procMount: 'Unmasked',
      seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/svc-workers.json' },
    });
    const none = await worker(isolation({ mode: 'none' }));
    expect(none).not.toHaveProperty('hostUsers');
    expect(none.containers[0]!.securityContext).not.toHaveProperty('procMount');
    await expect(helm!.template(LEAST, '1.32.0')).rejects.toThrow('needs Kubernetes 1.33');
    await expect(helm!.template({ ...LEAST, ...isolation({ mode: 'users' }) })).rejects.toThrow('needs numbers');
  });

  // Guard: where users are the walls no agent can read the authority that it is to trust, so that none reaches the API.
  it('shows agents the authority, and keeps the key from them', async () => {
    const { volumes, containers } = podsOf(found(await helm!.template(WAYS[2]![1]), 'StatefulSet', 'prod-svc-worker'))!.spec;
    expect(volumes).toEqual(
      expect.arrayContaining([
        { name: 'tls', secret: { secretName: 'inside', defaultMode: 0o440 } },
        { name: 'authority', secret: { secretName: 'inside', defaultMode: 0o444, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      ]),
    );
    expect(containers[0]!.env).toContainEqual({ name: 'SVC_CA_CERT', value: '/authority/ca.crt' });
    expect(containers[0]!.volumeMounts).toContainEqual({ name: 'authority', mountPath: '/authority', readOnly: true });
  });

  it('takes an autoscaler of workers that have one session each', async () => {
    const scaled = await helm!.template({ ...LEAST, worker: { capacity: 1, autoscaling: { enabled: true, sessions: 1 } } });
    expect(found(scaled, 'HorizontalPodAutoscaler', 'prod-svc-worker')).toBeDefined();
  });

  it('finds what is planted', async () => {
    const manifests = await helm!.template(LEAST);
    const api = found(manifests, 'Deployment', 'prod-svc-api') as Manifest & { spec: object };
    const budget = found(manifests, 'PodDisruptionBudget', 'prod-svc-api');
    expect(
      await helm!.faults([
        { ...api, spec: { ...api.spec, replcias: 3 } },
        { ...budget, kind: 'PodDisruptionBudge' },
      ] as Manifest[]),
    ).toEqual([
      'policy/v1 PodDisruptionBudge is not known',
      expect.stringMatching(/replcias.* does not exist/),
      expect.stringContaining('PodDisruptionBudge'),
    ]);
    expect(await helm!.faults([{ ...api, spec: { ...api.spec, replicas: 'two' } } as Manifest])).toEqual([
      expect.stringContaining('must be integer'),
      expect.stringContaining("'string' is not assignable to type 'number'"),
    ]);
  });

  it.each([
    ['a value that there is not', { ...LEAST, worker: { replica: 3 } }],
    ['no secret', {}],
    ['a variable that the chart decides', { ...LEAST, env: { SVC_PORT: '1' } }],
    ['an autoscaler that full workers would not wake', { ...LEAST, worker: { capacity: 80, autoscaling: { enabled: true } } }],
    ['less time than an api needs to stop once it has drained', { ...LEAST, api: { drainSeconds: 36 } }],
    ['less time than sessions need to be handed over', { ...LEAST, worker: { terminationGracePeriodSeconds: 10 } }],
  ])('refuses %s', async (_, values) => {
    await expect(helm!.template(values)).rejects.toThrow(/schema|additional|required|secret|has to be/i);
  });
});
