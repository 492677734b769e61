import type { SomeEvent } from '../../client/events.js';
import type { Followed } from '../listing.js';
import type { Session } from './view.js';

type Event = SomeEvent<'city' | 'supervisor'>;

const MOST = 10_000;

interface Row {
  readonly session: Session;
  /** The position of the log that it is as of. */
  readonly at: number;
}

/** Sessions of a city as they were read, kept by the events that tell them. */
export class SessionRows implements Followed<Session> {
  readonly #rows = new Map<string, Row>();
  #isWhole = false;

  constructor(
    /** Whether one belongs to the list; undefined where the service alone can say. */
    private readonly matches: ((session: Session) => boolean) | undefined,
  ) {}

  /** A page of them: the first one takes the place of what is known and not newer. */
  read(sessions: readonly Session[], { response, first, whole }: { response: Response; first: boolean; whole: boolean }): void {
    const at = Number(response.headers.get('x-svc-index') ?? 0);
    if (first) for (const [id, row] of this.#rows) if (row.at <= at) this.#rows.delete(id);
    this.#isWhole = whole;
    for (const session of sessions) if ((this.#rows.get(session.id)?.at ?? -1) < at) this.#rows.set(session.id, { session, at });
  }

  items(): Session[] {
    const all = [...this.#rows.values()].map(({ session }) => session);
    return this.matches === undefined ? all : all.filter(this.matches).sort(newestFirst);
  }

  take(event: Event): 'shown' | 'read' | undefined {
    const { type } = event;
    if (type === 'config.reloaded') return 'read';
    if (type.startsWith('bead.')) return this.#concerns(event) ? 'read' : undefined;
    if (!type.startsWith('session.')) return undefined;
    const { session } = (event.payload ?? {}) as { session?: Session };
    if (session === undefined || this.matches === undefined || !this.#isWhole) return 'read';
    const known = this.#rows.get(session.id);
    if (known !== undefined && known.at >= event.seq) return undefined;
    // The bead that it works on is told by the events of beads.
    const { active_bead: told, ...rest } = session;
    const bead = known === undefined ? told : known.session.active_bead;
    this.#rows.set(session.id, { session: bead === undefined ? rest : { ...rest, active_bead: bead }, at: event.seq });
    // Those that have left matter to pages that are on their way.
    if (this.#rows.size > MOST) for (const [id, row] of this.#rows) if (!this.matches(row.session)) this.#rows.delete(id);
    return 'shown';
  }

  /** A bead that one of them works on, or begins to. */
  #concerns({ subject, session_id: holder, payload, seq }: Event): boolean {
    const { status } = ((payload ?? {}) as { bead?: { status?: string } }).bead ?? {};
    for (const { session, at } of this.#rows.values()) {
      if (at >= seq) continue;
      if (session.active_bead !== undefined && session.active_bead === subject) return true;
      if (session.id === holder && status === 'in_progress') return true;
    }
    return false;
  }
}

function newestFirst(a: Session, b: Session): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? 1 : -1;
  return b.id.localeCompare(a.id, undefined, { numeric: true });
}

export interface SessionFilter {
  readonly state?: readonly string[] | undefined;
  readonly template?: string | undefined;
  readonly provider?: string | undefined;
  readonly rig?: string | undefined;
  readonly kind?: 'agent' | 'provider' | undefined;
  readonly running?: boolean | undefined;
}

/** The conditions of the list on a session itself; undefined for those on what its answer does not have, as the stored state. */
export function matching({
  state = ['open'],
  template,
  provider,
  rig,
  kind,
  running,
}: SessionFilter): ((session: Session) => boolean) | undefined {
  if (state.some((one) => !['open', 'closed', 'all'].includes(one))) return undefined;
  const wants = (closed: boolean): boolean => state.includes('all') || state.includes(closed ? 'closed' : 'open');
  return (session) =>
    wants(session.state === 'closed') &&
    (template === undefined || session.template === template) &&
    (provider === undefined || session.provider === provider) &&
    (rig === undefined || (session.rig ?? '') === rig) &&
    (kind === undefined || session.kind === kind) &&
    (running === undefined || session.running === running);
}
