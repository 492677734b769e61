import type { Bead, LoggedEvent, Session } from '../api/types.js';
import type { LiveList } from './list.js';

/** The bead that a session works on, as of a position of the log; '' where the service alone knows. */
interface Work {
  readonly bead: string;
  readonly seq: number;
}

const MOVED = 5_000;

/**
 * Applies the events of a city to a list of its sessions. Which bead one works on is told by the events of beads: whoever writes a session
 * does not see what is committed with a bead at the same moment. Knows neither the service nor a browser.
 */
export class SessionEvents {
  readonly #works = new Map<string, Work>();
  /** The sessions that have the beads of `#works`. */
  readonly #holders = new Map<string, string>();
  /** The last events of beads: a read that is on its way may be older. */
  readonly #moved = new Map<string, number>();
  #head = 0;

  constructor(
    private readonly list: LiveList<Session>,
    /** Reads one of them: what its event is too short for, and what only the service knows. */
    private readonly want: (id: string) => void,
    /** Reads all of them. */
    private readonly again: () => void,
    /** The only one that is wanted, by one of its names. */
    private readonly only?: string,
  ) {}

  /** What a read has brought, with what events have told since it was made. */
  read(sessions: readonly Session[], index: number): Session[] {
    return sessions.map((session) => {
      const { id, active_bead: bead = '' } = session;
      const work = this.#works.get(id);
      if (work !== undefined && work.seq > index) return this.#told(session, work.bead);
      const isGone = (this.#moved.get(bead) ?? 0) > index && this.#holders.get(bead) !== id;
      if (isGone) return this.#told(session, '');
      if (bead !== '' || work !== undefined) this.#know(id, { bead, seq: index });
      // Also where an event has told the rest of it since.
      this.list.amend(id, (known) => working(known, bead));
      return session;
    });
  }

  #told(session: Session, bead: string): Session {
    if (bead === '') this.want(session.id);
    return working(session, bead);
  }

  apply(event: LoggedEvent): void {
    // What comes again is older than what was read since.
    if (event.seq <= this.#head) return;
    this.#head = event.seq;
    if (event.type.startsWith('session.')) this.#session(event);
    else if (event.type.startsWith('bead.')) this.#bead(event);
    // What a session inherits from the files may be another thing now.
    else if (event.type === 'config.reloaded') this.again();
  }

  #session({ seq, subject = '', payload }: LoggedEvent): void {
    const { session } = payload as { session?: Session };
    if (session === undefined) {
      if (subject !== '' && (this.only === undefined || this.list.get(subject) !== undefined)) this.want(subject);
      return;
    }
    const { id } = session;
    if (this.only !== undefined && !namesOf(session).includes(this.only)) {
      // Those of whoever is not followed are remembered by what their beads say, for as long as they are open.
      if (session.state === 'closed') this.#works.delete(id);
      return;
    }
    const known = this.list.get(id);
    const work = this.#works.get(id);
    if (known === undefined && work?.bead === '') this.want(id);
    const bead = (known === undefined ? (work?.bead ?? session.active_bead) : known.active_bead) ?? '';
    if (session.state === 'closed') this.#works.delete(id);
    else if (work === undefined && bead !== '') this.#know(id, { bead, seq });
    this.list.put(working(session, bead), seq);
  }

  #bead({ seq, type, payload }: LoggedEvent): void {
    const { bead } = payload as { bead?: Bead };
    // What a client has recorded has no revision, and says nothing of what is there.
    if (bead?.revision === undefined) return;
    const { id } = bead;
    this.#moved.delete(id);
    this.#moved.set(id, seq);
    if (this.#moved.size > MOVED) this.#moved.delete(this.#moved.keys().next().value!);
    const before = this.#holders.get(id);
    const now = type !== 'bead.deleted' && bead.status === 'in_progress' ? bead.metadata?.['gc.session_id'] : undefined;
    if (before !== undefined && before !== now) {
      this.#holders.delete(id);
      // It may have another one.
      if (this.#works.get(before)?.bead === id) this.#work(before, { bead: '', seq });
    }
    if (now !== undefined && now !== '') this.#work(now, { bead: id, seq });
  }

  #work(id: string, work: Work): void {
    const { seq = 0 } = this.#works.get(id) ?? {};
    if (seq >= work.seq) return;
    this.#know(id, work);
    this.list.amend(id, (session) => working(session, work.bead));
    if (work.bead === '' && this.list.get(id) !== undefined) this.want(id);
  }

  #know(id: string, work: Work): void {
    this.#works.set(id, work);
    if (work.bead !== '') this.#holders.set(work.bead, id);
  }
}

function working(session: Session, bead: string): Session {
  const { active_bead: before = '', ...rest } = session;
  if (before === bead) return session;
  return bead === '' ? rest : { ...rest, active_bead: bead };
}

const namesOf = ({ id, alias, session_name }: Session): readonly (string | undefined)[] => [id, alias, session_name];
