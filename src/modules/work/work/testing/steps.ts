import fc from 'fast-check';

/** Points at a bead: the n-th that was ever made, removed ones included, or none at all. */
export type Ref = number;

export interface CreateStep {
  readonly kind: 'create';
  readonly rig: string;
  readonly title: string;
  readonly type?: string | undefined;
  readonly priority?: number | undefined;
  readonly assignee?: string | undefined;
  readonly author?: string | undefined;
  readonly description?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly parent?: Ref | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly defer?: Defer | undefined;
  readonly ephemeral?: boolean | undefined;
  readonly noHistory?: boolean | undefined;
}

export interface UpdateStep {
  readonly kind: 'update';
  readonly bead: Ref;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly type?: string | undefined;
  readonly status?: 'open' | 'in_progress' | 'closed' | undefined;
  readonly priority?: number | undefined;
  readonly assignee?: string | null | undefined;
  readonly parent?: Ref | null | undefined;
  readonly defer?: Defer | null | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly addLabels?: readonly string[] | undefined;
  readonly removeLabels?: readonly string[] | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly leaseMs?: number | undefined;
}

export type Step =
  | CreateStep
  | UpdateStep
  | { readonly kind: 'close'; readonly bead: Ref; readonly reason?: string | undefined }
  | { readonly kind: 'reopen'; readonly bead: Ref }
  | { readonly kind: 'remove'; readonly bead: Ref }
  | { readonly kind: 'putEdge'; readonly from: Ref; readonly to: Ref; readonly type: string }
  | { readonly kind: 'putEdges'; readonly from: Ref; readonly to: readonly Ref[]; readonly type: string }
  | { readonly kind: 'deleteEdge'; readonly from: Ref; readonly to: Ref }
  | { readonly kind: 'deleteEdges'; readonly from: Ref; readonly to: readonly Ref[] }
  | { readonly kind: 'look'; readonly beads: readonly Ref[] }
  | { readonly kind: 'abort' };

/** Instants that no run of the test comes near. */
export const DEFERRALS = { past: '2001-02-03T04:05:06.789Z', future: '2999-12-31T23:59:59Z' } as const;
export type Defer = keyof typeof DEFERRALS;

/** The Ref that never points at anything. */
export const NOBODY: Ref = 9;

/** The id that a Ref points at when `made` are the ids that were given so far. */
export function idOf(made: readonly string[], ref: Ref): string {
  return ref === NOBODY || made.length === 0 ? 'al-999' : made[ref % made.length]!;
}

// Few values each, so that changes often change nothing and steps often meet.
const ref = fc.oneof({ weight: 19, arbitrary: fc.nat(5) }, { weight: 1, arbitrary: fc.constant(NOBODY) });
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined, freq: 2 });
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const title = fc.constantFrom('a', 'b', 'ünï "q" \\ \u2028 😀');
const type = fc.constantFrom('task', 'task', 'bug', 'epic', 'convoy', 'convoy', 'molecule');
const priority = fc.constantFrom(0, 1, 2, 4);
const who = fc.constantFrom('mayor', 'web/polecat');
const description = fc.constantFrom('', 'long', 'longer');
const labels = fc.array(fc.constantFrom('x', 'y', 'z', 'owned', 'order-tracking', ''), { maxLength: 3 });
const metadata = fc.dictionary(
  fc.constantFrom(
    'k',
    'other',
    'constructor',
    'workflow_id',
    'molecule_id',
    'gc.root_bead_id',
    'gc.session_id',
    'gc.step_id',
    'gc.routed_to',
  ),
  fc.constantFrom('', '1', '2', 'a "b"'),
  { maxKeys: 3 },
);
const defer = fc.constantFrom<Defer[]>('past', 'future');
const leaseMs = fc.constantFrom(1_000, 60_000);
const edgeType = fc.constantFrom(
  'blocks',
  'blocks',
  'waits-for',
  'conditional-blocks',
  'tracks',
  'tracks',
  'parent-child',
  'related',
  'discovered-from',
);

const create: fc.Arbitrary<CreateStep> = fc.record({
  kind: fc.constant('create' as const),
  rig: fc.constantFrom('', '', 'web', 'core'),
  title,
  type: maybe(type),
  priority: maybe(priority),
  assignee: rarely(fc.oneof(who, fc.constant(''))),
  author: rarely(who),
  description: rarely(description),
  labels: maybe(labels),
  parent: rarely(ref),
  metadata: maybe(metadata),
  defer: rarely(defer),
  ephemeral: rarely(fc.boolean()),
  noHistory: rarely(fc.boolean()),
});
const update: fc.Arbitrary<UpdateStep> = fc.record({
  kind: fc.constant('update' as const),
  bead: ref,
  title: rarely(title),
  description: rarely(description),
  type: rarely(type),
  status: rarely(fc.constantFrom('open' as const, 'in_progress' as const, 'closed' as const)),
  priority: rarely(priority),
  assignee: rarely(fc.oneof(who, fc.constant(''), fc.constant(null))),
  parent: rarely(fc.oneof(ref, fc.constant(null))),
  defer: rarely(fc.oneof(defer, fc.constant(null))),
  labels: rarely(labels),
  addLabels: rarely(labels),
  removeLabels: rarely(labels),
  metadata: rarely(metadata),
});
const claim: fc.Arbitrary<UpdateStep> = fc.record({
  kind: fc.constant('update' as const),
  bead: ref,
  status: fc.constant('in_progress' as const),
  assignee: who,
  leaseMs,
});
const release: fc.Arbitrary<UpdateStep> = fc.record({
  kind: fc.constant('update' as const),
  bead: ref,
  status: fc.constant('open' as const),
  assignee: fc.constantFrom(null, undefined),
});
const renew: fc.Arbitrary<UpdateStep> = fc.record({ kind: fc.constant('update' as const), bead: ref, leaseMs, title: rarely(title) });
const close = fc.record({ kind: fc.constant('close' as const), bead: ref, reason: rarely(fc.constantFrom('done', '')) });
const putEdge = fc.record({ kind: fc.constant('putEdge' as const), from: ref, to: ref, type: edgeType });
const several = fc.array(ref, { minLength: 1, maxLength: 3 });
const putEdges = fc.record({ kind: fc.constant('putEdges' as const), from: ref, to: several, type: edgeType });
const deleteEdges = fc.record({ kind: fc.constant('deleteEdges' as const), from: ref, to: several });
const deleteEdge = fc.record({ kind: fc.constant('deleteEdge' as const), from: ref, to: ref });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: create },
  { weight: 6, arbitrary: update },
  { weight: 2, arbitrary: claim },
  { weight: 1, arbitrary: release },
  { weight: 1, arbitrary: renew },
  { weight: 6, arbitrary: close },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('reopen' as const), bead: ref }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), bead: ref }) },
  { weight: 9, arbitrary: putEdge },
  { weight: 3, arbitrary: putEdges },
  { weight: 3, arbitrary: deleteEdge },
  { weight: 1, arbitrary: deleteEdges },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('look' as const), beads: fc.array(ref, { minLength: 1, maxLength: 6 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'abort' as const }) },
  { weight: 1, arbitrary: create.map((it) => ({ ...it, rig: 'nowhere' })) },
);

/** Transactions, each of some steps. The first one makes a few beads, so that there is something to do. */
export const history: fc.Arbitrary<Step[][]> = fc
  .tuple(
    fc.array(create, { minLength: 2, maxLength: 4 }),
    fc.array(putEdge, { maxLength: 2 }),
    fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 3, maxLength: 7 }),
  )
  // Through JSON, which leaves absent members out of what a failure prints.
  .map(([beads, edges, rest]) => JSON.parse(JSON.stringify([beads, ...edges.map((edge) => [edge]), ...rest])) as Step[][]);
