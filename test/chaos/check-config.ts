import { logical } from './attempt.js';
import { checkEdits } from './check-edits.js';
import { ConfigReplay, configEvents } from './config-replay.js';
import type { ConfigEnd, ConfigView, Edit, Save } from './history-config.js';
import type { History } from './history.js';
import type { LogIndex } from './log-index.js';
import type { Violations } from './violations.js';

/** Older results than this many are given up. */
const KEPT = 50;
/** What a patch says shows in what it patches. */
const PATCHED: Readonly<Record<string, string>> = { agent: 'agent', rigs: 'rig', providers: 'provider' };

/** Files, revisions, events and answers of a city's configuration tell the same. */
export function checkConfig(history: History, log: LogIndex, violations: Violations): void {
  const cities = new Set([...history.configs, ...history.ends, ...history.edits].map(({ city }) => city));
  for (const city of cities) {
    const own = <T extends { readonly city: string }>(entries: readonly T[]): T[] => entries.filter((entry) => entry.city === city);
    const facts = { edits: own(history.edits), saves: own(history.saves), views: own(history.configs), end: own(history.ends)[0] };
    new CityConfigCheck(city, facts, log, violations).run();
  }
}

interface Facts {
  readonly edits: readonly Edit[];
  readonly saves: readonly Save[];
  readonly views: readonly ConfigView[];
  readonly end: ConfigEnd | undefined;
}

class CityConfigCheck {
  readonly #replay: ConfigReplay;
  /** Of edits that were refused, unless somebody saved the file with them in it. */
  readonly #refused: ReadonlySet<string>;
  #disk = 0;

  constructor(
    private readonly city: string,
    private readonly facts: Facts,
    private readonly log: LogIndex,
    private readonly violations: Violations,
  ) {
    this.#replay = new ConfigReplay(city, violations);
    const kept = new Set(facts.saves.flatMap((save) => save.kept));
    const refused = [...logical(facts.edits)].filter(([marker, all]) => all.every((e) => e.outcome === 'refused') && !kept.has(marker));
    this.#refused = new Set(refused.map(([marker]) => marker));
  }

  run(): void {
    const views = [...this.facts.views].sort((a, b) => a.index - b.index);
    for (const event of configEvents(this.log.stream(this.city))) {
      while (views.length > 0 && views[0]!.index < event.seq) this.#view(views.shift()!);
      this.#replay.apply(event);
    }
    for (const view of views) this.#view(view);
    const { end } = this.facts;
    if (end !== undefined) this.#end(end);
    checkEdits(this.city, this.facts, this.#replay, this.violations);
  }

  #view(view: ConfigView): void {
    const replay = this.#replay;
    const told = (message: string, ...entries: unknown[]): void =>
      this.violations.add('config told', `${this.city} at ${view.index}, seen by ${view.source}: ${message}`, ...entries);
    if (view.revision !== undefined && view.revision !== replay.revision)
      told(`revision ${view.revision}, its events say ${replay.revision}`);
    if (replay.names === undefined) replay.names = new Set(view.names);
    const seen = new Set(view.names);
    for (const name of seen) if (!replay.names.has(name)) told(`${name} is there, and no event says so`);
    for (const name of replay.names) if (!seen.has(name)) told(`${name} is not there, and no event says so`);
    for (const [name, [declared, effective]] of Object.entries(view.suspended ?? {})) {
      if (effective !== (replay.switches.get(name) ?? declared))
        told(`${name} is ${effective ? '' : 'not '}suspended, and its events say otherwise`);
    }
    this.#values(view);
  }

  #values({ values = {}, disk, index, source }: ConfigView): void {
    for (const [key, value] of Object.entries(values)) {
      if (this.#refused.has(value))
        this.violations.add('nothing uncommitted', `${key} of ${this.city} at ${index} is ${value}, which was refused (${source})`);
      const [, kind = '', rest] = /^patch (\w+) (.+)$/.exec(key) ?? [];
      const effect = values[`${PATCHED[kind]} ${rest}`];
      if (rest !== undefined && effect !== value)
        this.#kept(`${key} at ${index} is ${value}, and what it patches has ${effect} (${source})`);
    }
    if (disk === undefined) return;
    if (disk < this.#disk) this.#kept(`a save of ${this.#disk} was replaced by ${disk} at ${index} (${source})`);
    this.#disk = Math.max(disk, this.#disk);
  }

  #end(end: ConfigEnd): void {
    const unclean = (message: string): void => this.violations.add('config clean', `${this.city}: ${message}`, end);
    if (end.held > 0) unclean('an edit is still held');
    if (end.rejected && end.valid === true) unclean('files that can be used are still rejected');
    for (const name of end.temporaries) unclean(`${name} is left`);
    for (const half of end.halves) unclean(`half of a change: ${half}`);
    for (const agent of end.aside)
      if (!this.#replay.told.has(`agent.deleted agent ${agent}`))
        unclean(`the folder of agent ${agent} is put aside, and nobody removed it`);
    if (end.valid === false) unclean('the files cannot be used');
    else if (end.differences !== undefined && end.differences !== 0)
      unclean(`the files differ from the revision in ${end.differences} keys`);
    const { revision, revisions } = end;
    if (revision !== this.#replay.revision)
      this.violations.add('config once', `${this.city} is at revision ${revision}, its events at ${this.#replay.revision}`, end);
    const first = Math.max(1, revision - KEPT + 1);
    if (revisions.length !== revision - first + 1 || revisions.some((each, i) => each !== first + i))
      this.violations.add('config once', `the revisions of ${this.city} up to ${revision} are not those from ${first} on`, end);
    const last = this.facts.saves.at(-1);
    if (last !== undefined && end.disk !== last.value)
      this.#kept(`the last save of ${last.value} is not in the file, which has ${end.disk}`, last);
    if (last !== undefined && end.valid !== undefined && this.#disk !== last.value)
      this.#kept(`the last save of ${last.value} is not what the city runs, which has ${this.#disk}`, last);
    for (const [key, value] of Object.entries(end.files))
      if (this.#refused.has(value))
        this.violations.add('nothing uncommitted', `${key} of ${this.city} is ${value}, which was refused`, end);
  }

  #kept(message: string, ...entries: unknown[]): void {
    this.violations.add('config kept', `${this.city}: ${message}`, ...entries);
  }
}
