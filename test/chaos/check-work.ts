import { logical } from './attempt.js';
import { checkClaims } from './check-claims.js';
import { ConvoyCheck } from './check-convoys.js';
import { checkMade } from './check-made.js';
import type { Change, MessageView, WorkView } from './history-work.js';
import type { History } from './history.js';
import { RunCheck } from './check-runs.js';
import type { LogIndex } from './log-index.js';
import type { Violations } from './violations.js';
import { openBlockers, Replay, same, stateOf, workEvents } from './work-replay.js';

/** What may be said to somebody who asks for what is not so any more; anything else is a mistake of the product. */
const REFUSALS = [404, 408, 409, 412];

/** Events of a city's work tell exactly what became of it: its rows, its lists and every answer follow from them. */
export function checkWork(history: History, log: LogIndex, violations: Violations): void {
  const at = new Map<string, { changes: Change[]; views: WorkView[] }>();
  const of = (city: string): { changes: Change[]; views: WorkView[] } => {
    let own = at.get(city);
    if (own === undefined) at.set(city, (own = { changes: [], views: [] }));
    return own;
  };
  for (const change of history.changes) of(change.city).changes.push(change);
  for (const view of history.views) of(view.city).views.push(view);
  for (const [city, { changes, views }] of at) new CityCheck(city, changes, views, log, violations).run();
  for (const change of history.changes) {
    const left = change.kind === 'convoy.remove' && change.status === 400;
    if (change.outcome === 'refused' && !left && !REFUSALS.includes(change.status!))
      violations.add('no internal errors', `${change.kind} of ${change.subject} was refused with ${change.status}`, change);
  }
  overwritten(history.changes, violations);
}

class CityCheck {
  readonly #replay: Replay;
  readonly #convoys: ConvoyCheck;
  readonly #runs: RunCheck;

  constructor(
    private readonly city: string,
    private readonly changes: readonly Change[],
    private readonly views: readonly WorkView[],
    private readonly log: LogIndex,
    private readonly violations: Violations,
  ) {
    this.#replay = new Replay(city, violations);
    this.#convoys = new ConvoyCheck(city, this.#replay, violations);
    this.#runs = new RunCheck(city, this.#replay, violations);
  }

  run(): void {
    const events = workEvents(this.log.stream(this.city));
    const due = this.#due();
    for (const event of events) {
      while (due.length > 0 && due[0]!.index < event.seq) due.shift()!.look();
      this.#replay.apply(event);
      this.#convoys.apply(event);
      this.#runs.apply(event);
    }
    const head = this.log.head(this.city);
    for (const { index, look } of due) {
      if (index > head) this.#kept(`an index of ${index} beyond the log of ${this.city}, which ends at ${head}`);
      look();
    }
    this.#convoys.end();
    this.#runs.end();
    checkMade(this.city, this.changes, events, this.violations);
    checkClaims(this.city, this.changes, events, this.#replay, this.violations);
    this.#letters();
  }

  /** What has been said about positions of the log, in their order. */
  #due(): { index: number; look: () => void }[] {
    const due = this.views.map((view) => ({ index: view.index, look: () => this.#view(view) }));
    for (const change of this.changes) {
      if (change.outcome !== 'acknowledged' || change.index === undefined) continue;
      due.push({ index: change.index, look: () => this.#effect(change) });
    }
    return due.sort((a, b) => a.index - b.index);
  }

  #view(view: WorkView): void {
    const { beads, letters } = this.#replay;
    const told = (what: string, ...entries: unknown[]): void =>
      this.violations.add('work told', `${this.city} at ${view.index}, seen by ${view.source}: ${what}`, ...entries);
    const seen = view.revisions ?? (view.beads && Object.fromEntries(view.beads.map((bead) => [bead.id, bead.revision])));
    if (seen !== undefined) {
      for (const [id, revision] of Object.entries(seen)) {
        const known = beads.get(id);
        if (known?.revision !== revision) told(`${id} is at revision ${revision}, its events say ${known?.revision}`, known);
      }
      for (const id of beads.keys()) if (seen[id] === undefined) told(`${id} is not there`, beads.get(id));
    }
    const listed = new Set<string>();
    for (const bead of view.beads ?? []) {
      if (listed.has(bead.id)) told(`${bead.id} is listed twice`, bead);
      listed.add(bead.id);
      if (!same(bead, beads.get(bead.id))) told(`${bead.id} is not what its events say`, bead, beads.get(bead.id));
    }
    this.#blockers(view);
    const open = [...letters.values()].filter((letter) => letter.archived === undefined).map((letter) => letter.message);
    if (view.mail !== undefined) this.#mail('open', view, view.mail, open);
    const put = [...letters.values()].filter((letter) => letter.archived === 'archived').map((letter) => letter.message);
    if (view.archived !== undefined) this.#mail('archived', view, view.archived, put);
    const counts = { total: open.length, unread: open.filter((message) => !message.read).length };
    if (view.counts !== undefined && !same(view.counts, counts))
      this.violations.add('mail told', `${this.city} counts ${JSON.stringify(view.counts)}, its events ${JSON.stringify(counts)}`, view);
  }

  #blockers(view: WorkView): void {
    const { beads } = this.#replay;
    for (const bead of beads.values()) {
      const open = openBlockers(bead, beads);
      const counted = view.blockers?.[bead.id] ?? open;
      if (bead.is_blocked !== open > 0 || counted !== open) {
        const message = `${bead.id} of ${this.city} at ${view.index}: ${open} open blockers, ${counted} counted, blocked: ${bead.is_blocked}`;
        this.violations.add('blockers', message, bead);
      }
    }
  }

  #mail(which: string, view: WorkView, listed: readonly MessageView[], told: readonly MessageView[]): void {
    const known = new Map(told.map((message) => [message.id, message]));
    // Whether mail can be answered is told where it is read, and by no event.
    const wrong = listed.find(({ answerable: _, ...message }) => !same(message, known.get(message.id)));
    const ids = new Set(listed.map((message) => message.id));
    if (wrong === undefined && ids.size === known.size && listed.length === ids.size) return;
    const message = `the ${which} mail of ${this.city} at ${view.index} (${view.source}) is not what its events say`;
    this.violations.add('mail told', message, wrong ?? { listed: listed.length, told: told.length }, wrong && known.get(wrong.id));
  }

  /** An acknowledged change has happened by the index of its answer. Only what no other may have undone since is asked. */
  #effect(change: Change): void {
    const { beads } = this.#replay;
    const { kind, subject = '', others = [] } = change;
    const bead = beads.get(subject);
    const edges = new Map((bead?.dependencies ?? []).map((d) => [d.depends_on_id, d.type]));
    const holds = ((): boolean => {
      switch (kind) {
        case 'bead.update':
          return bead?.revision === change.revision && Object.entries(change.metadata!).every(([k, v]) => bead?.metadata?.[k] === v);
        case 'bead.assign':
          return bead?.revision === change.revision && (bead?.assignee ?? '') === change.assignee;
        case 'bead.close':
        case 'convoy.close':
          return bead?.status === 'closed';
        case 'bead.reopen':
          return bead?.status === 'open';
        case 'bead.remove':
          return bead === undefined;
        case 'bead.release':
          return bead?.status === 'open' && bead.assignee === undefined;
        case 'edge.add':
          return edges.get(others[0]!) === change.type;
        case 'edge.remove':
          return !edges.has(others[0]!);
        case 'convoy.add':
          return others.every((id) => edges.get(id) === 'tracks');
        case 'convoy.remove':
          return others.every((id) => !edges.has(id) && beads.get(id)?.parent !== subject);
        default:
          return true;
      }
    })();
    if (!holds)
      this.#kept(`${kind} of ${subject} in ${this.city} was acknowledged at ${change.index}, and does not show there`, change, bead);
  }

  /** Answers about messages name no position: the message has to have been in the state that was asked for. */
  #letters(): void {
    for (const change of this.changes) {
      if (change.outcome !== 'acknowledged') continue;
      const letter = this.#replay.letters.get(change.subject ?? '');
      const { kind } = change;
      const reads = kind === 'mail.read' || kind === 'mail.unread';
      const removes = kind === 'mail.archive' || kind === 'mail.delete';
      const never = reads && letter?.was.has(stateOf(kind === 'mail.read')) !== true;
      if (never || (removes && letter !== undefined && letter.archived === undefined))
        this.#kept(`${kind} of ${change.subject} in ${this.city} was acknowledged and never happened`, change, letter);
    }
  }

  #kept(message: string, ...entries: unknown[]): void {
    this.violations.add('work kept', message, ...entries);
  }
}

/** Of those who expected one revision, only one can have changed it. */
function overwritten(changes: readonly Change[], violations: Violations): void {
  const won = new Map<string, Change>();
  for (const attempts of logical(changes).values()) {
    for (const change of attempts) {
      const { expected, revision, outcome } = change;
      if (outcome !== 'acknowledged' || expected === undefined || revision === expected) continue;
      const key = `${change.city} ${change.subject}@${expected}`;
      const other = won.get(key);
      if (other !== undefined && other.marker !== change.marker)
        violations.add('no lost update', `two writers have changed ${key}`, other, change);
      won.set(key, change);
    }
  }
}
