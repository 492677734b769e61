/** What a bead is, as a client and as a hook see it; times are left out. */
export interface ModelBead {
  readonly id: string;
  readonly rig: string;
  title: string;
  status: 'open' | 'in_progress' | 'closed';
  type: string;
  priority: number | undefined;
  assignee: string | undefined;
  author: string | undefined;
  parent: string | undefined;
  description: string | undefined;
  labels: string[];
  metadata: Map<string, string>;
  /** ISO 8601. */
  defer: string | undefined;
  ephemeral: boolean;
  noHistory: boolean;
  /** What it depends on: the other's id, and how. */
  needs: Map<string, string>;
  revision: number;
  fence: number;
  leaseMs: number | undefined;
}

export type View = Readonly<Record<string, unknown>>;

const NEVER_WORK = ['merge-request', 'gate', 'molecule', 'step', 'convoy', 'message', 'session', 'agent', 'role', 'rig'];
const NEVER_WORK_LABELS = ['gc:session', 'gc:order-tracking', 'order-tracking'];
const HINDERS = ['blocks', 'waits-for', 'conditional-blocks'];

/** A city's beads by id, in the order in which they were made. */
export type Beads = Map<string, ModelBead>;

/** Of the beads that `bead` waits for, those that are not closed, by id. */
export function openBlockers(beads: Beads, bead: ModelBead): string[] {
  const blocks = ([id, type]: [string, string]): boolean => HINDERS.includes(type) && beads.get(id)!.status !== 'closed';
  return [...bead.needs]
    .filter(blocks)
    .map(([id]) => id)
    .sort();
}

export function isReady(beads: Beads, bead: ModelBead): boolean {
  const deferred = bead.defer !== undefined && Date.parse(bead.defer) > Date.now();
  const work = !NEVER_WORK.includes(bead.type) && !bead.labels.some((label) => NEVER_WORK_LABELS.includes(label));
  return bead.status === 'open' && work && !deferred && openBlockers(beads, bead).length === 0;
}

/** The bead as answers and events carry it, without times. */
export function viewOf(beads: Beads, bead: ModelBead): View {
  const blocking = needsOf(bead).flatMap(({ type, depends_on_id }) => (HINDERS.includes(type) ? [depends_on_id] : []));
  const view: Record<string, unknown> = {
    id: bead.id,
    title: bead.title,
    status: bead.status,
    issue_type: bead.type,
    priority: bead.priority,
    rig: bead.rig || undefined,
    assignee: bead.assignee,
    from: bead.author,
    parent: bead.parent,
    description: bead.description,
    labels: bead.labels.length > 0 ? [...bead.labels] : undefined,
    metadata: bead.metadata.size > 0 ? Object.fromEntries(bead.metadata) : undefined,
    dependencies: bead.needs.size > 0 ? needsOf(bead) : undefined,
    needs: blocking.length > 0 ? blocking : undefined,
    ephemeral: bead.ephemeral || undefined,
    no_history: bead.noHistory || undefined,
    defer_until: bead.defer === undefined ? undefined : new Date(bead.defer).toISOString(),
    is_blocked: openBlockers(beads, bead).length > 0,
    revision: bead.revision,
  };
  return Object.fromEntries(Object.entries(view).filter(([, value]) => value !== undefined));
}

/** The edges from `bead`, by the id of what it depends on. */
export function needsOf(bead: ModelBead): { issue_id: string; depends_on_id: string; type: string }[] {
  return [...bead.needs]
    .map(([depends_on_id, type]) => ({ issue_id: bead.id, depends_on_id, type }))
    .sort((a, b) => (a.depends_on_id < b.depends_on_id ? -1 : 1));
}

/** Beside the view: what only the product's own code sees of a bead. */
export function innerOf(beads: Beads, bead: ModelBead): View {
  return {
    ready: isReady(beads, bead),
    open_blockers: openBlockers(beads, bead).length,
    claim_fence: bead.fence,
    lease_ms: bead.leaseMs ?? null,
    leased: bead.leaseMs !== undefined,
  };
}
