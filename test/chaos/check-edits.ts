import { logical } from './attempt.js';
import type { ConfigReplay, Touch } from './config-replay.js';
import type { ConfigEnd, ConfigView, Edit, Save } from './history-config.js';
import type { Violations } from './violations.js';

/** What may be said to somebody who asks for what is not so any more, or who meets somebody else. */
const REFUSALS = [404, 409];
/** How long a change may still come about after its client has gone away. */
const LATE_MS = 30_000;

interface Facts {
  readonly edits: readonly Edit[];
  readonly saves: readonly Save[];
  readonly views: readonly ConfigView[];
  readonly end: ConfigEnd | undefined;
}
/** What a key may be; anything when somebody may have saved an older file over it. */
type Possible = ReadonlySet<string | null> | 'anything';

/** Every edit that was acknowledged has happened once and counts until somebody undoes it; nothing else has happened. */
export function checkEdits(city: string, facts: Facts, replay: ConfigReplay, violations: Violations): void {
  new EditsCheck(city, facts, replay, violations).run();
}

class EditsCheck {
  readonly #writes = new Map<string, Edit[]>();
  readonly #kept: ReadonlySet<string>;

  constructor(
    private readonly city: string,
    private readonly facts: Facts,
    private readonly replay: ConfigReplay,
    private readonly violations: Violations,
  ) {
    this.#kept = new Set(facts.saves.flatMap((save) => save.kept));
    for (const edit of facts.edits)
      for (const key of Object.keys(edit.sets)) this.#writes.set(key, [...(this.#writes.get(key) ?? []), edit]);
  }

  run(): void {
    for (const [, attempts] of logical(this.facts.edits)) {
      for (const edit of attempts) this.#one(edit);
      if (isCreate(attempts[0]!)) this.#created(attempts);
    }
    for (const [key, writes] of this.#writes) this.#key(key, writes);
  }

  #one(edit: Edit): void {
    const { kind, subject, outcome, status, revision, index, sets } = edit;
    // An edit that meets a file which is broken just then, and mended before it can be told, is taken to have broken it.
    const met = status === 422 && this.facts.saves.some((save) => save.from <= edit.to && save.to >= edit.from);
    if (outcome === 'refused' && !met && !REFUSALS.includes(status!))
      this.violations.add('no internal errors', `${kind} of ${subject} was refused with ${status}`, edit);
    if (outcome !== 'acknowledged' || isCreate(edit)) return;
    if (kind.endsWith('.suspend')) {
      const thing = kind.split('.')[0]!;
      if (!this.replay.told.has(`${thing}.suspended ${thing} ${subject}`))
        this.#lost(`${kind} of ${subject} was acknowledged and never told`, edit);
    }
    const keys = Object.keys(sets);
    const told = keys.some((key) => this.replay.touches.get(key)?.some((t) => t.revision === revision && t.seq <= (index ?? 0)));
    if (keys.length > 0 && !told)
      this.#lost(`${kind} of ${subject} was acknowledged at revision ${revision}, which does not tell of it`, edit);
  }

  #created(attempts: readonly Edit[]): void {
    const { kind, subject, marker, key } = attempts[0]!;
    const thing = kind.split('.')[0]!;
    const events = this.replay.told.get(`${thing}.created ${thing} ${subject}`) ?? [];
    if (events.length > 1)
      this.violations.add('idempotent', `${kind} of ${subject} was done ${events.length} times`, ...attempts, ...events);
    if (events.length > 0 && attempts.every((a) => a.outcome === 'refused') && !this.#kept.has(marker))
      this.violations.add('nothing uncommitted', `${kind} of ${subject} was refused, and done`, ...attempts, ...events);
    const answers = attempts.filter((a) => a.outcome === 'acknowledged');
    for (const edit of answers) {
      const { revision = Infinity, index = Infinity } = edit;
      const found = events.find((e) => e.payload.revision! <= revision && e.seq <= index);
      if (found === undefined)
        this.#lost(`${kind} of ${subject} was acknowledged at revision ${edit.revision}, and no event tells of it`, edit);
      else if (key === undefined && found.payload.revision !== revision)
        this.#lost(`${kind} of ${subject} was answered as another revision`, edit);
    }
    const other = key === undefined ? undefined : answers.find((a) => a.body !== answers[0]!.body || a.status !== answers[0]!.status);
    if (other !== undefined) this.violations.add('idempotent', `different answers under the key of ${kind} ${subject}`, answers[0]!, other);
  }

  /** Every event about a key has somebody who asked for it, and the last one says what the key is. */
  #key(key: string, writes: readonly Edit[]): void {
    let possible: Possible = new Set([null]);
    for (const touch of this.replay.touches.get(key) ?? []) {
      possible = this.#causes(key, writes, touch);
      if (possible !== 'anything' && possible.size === 0)
        this.violations.add(
          'nothing uncommitted',
          `${key} of ${this.city} changed at revision ${touch.revision}, and nobody did it`,
          touch,
          ...writes,
        );
    }
    if (possible === 'anything' || possible.size === 0) return;
    const { end, views } = this.facts;
    if (end === undefined) return;
    const [kind] = key.split(' ');
    const shown: [string, string | undefined][] = views
      .filter((view) => view.values !== undefined && view.revision === end.revision)
      .map((view) => [`what ${view.source} shows`, view.values![key]]);
    for (const [where, value = null] of [['the files', end.files[key]] as const, ...shown])
      if (!possible.has(value)) this.#lost(`${key} is ${value} in ${where}; possible is ${[...possible].join(', ')} (${kind})`, ...writes);
  }

  #causes(key: string, writes: readonly Edit[], { revision, created }: Touch): Possible {
    const values = (edits: readonly Edit[]): Set<string | null> => new Set(edits.map((edit) => edit.sets[key]!));
    const creates = writes.filter((edit) => isCreate(edit) && (edit.outcome !== 'refused' || this.#kept.has(edit.marker)));
    if (created && creates.length > 0) return values(creates);
    const others = writes.filter((edit) => !isCreate(edit));
    const exact = others.filter((edit) => edit.outcome === 'acknowledged' && edit.revision === revision);
    if (exact.length > 0) return values(exact);
    if (this.#overwritten(key, writes)) return 'anything';
    return values(others.filter((edit) => edit.outcome === 'unknown' || (edit.outcome === 'refused' && this.#kept.has(edit.marker))));
  }

  /** Whether somebody who had read `city.toml` before such an edit may have saved it afterwards, without it. */
  #overwritten(key: string, writes: readonly Edit[]): boolean {
    if (/^agent .* description$/.test(key)) return false;
    const until = (edit: Edit): number => (edit.outcome === 'unknown' ? edit.to + LATE_MS : edit.to);
    return this.facts.saves.some((save) =>
      writes.some((edit) => save.from <= until(edit) && save.to >= edit.from && !save.kept.includes(edit.marker)),
    );
  }

  #lost(message: string, ...entries: unknown[]): void {
    this.violations.add('config kept', `${this.city}: ${message}`, ...entries);
  }
}

function isCreate({ kind }: Edit): boolean {
  return kind.endsWith('.create');
}
