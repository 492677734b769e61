import type { LogRow } from './history.js';
import type { Violations } from './violations.js';

export interface ConfigEvent {
  readonly seq: number;
  readonly type: string;
  readonly subject?: string;
  readonly payload: {
    readonly revision?: number;
    readonly changed?: readonly string[];
    readonly changed_total?: number;
    readonly kind?: string;
    readonly target?: string;
  };
}

/** An event that tells of one key. */
export interface Touch {
  readonly seq: number;
  readonly revision: number;
  readonly created: boolean;
}

const CONFIG = /^(config|agent|rig|provider|patch)\.(reloaded|rejected|created|updated|deleted|set|suspended|resumed)$/;

/** Events about a city's configuration, as far as the log can be read at all. */
export function configEvents(rows: readonly (LogRow | undefined)[]): ConfigEvent[] {
  return rows.filter((row) => row !== undefined && CONFIG.test(row.type)).map((row) => JSON.parse(row!.text) as ConfigEvent);
}

/** What whoever has read a configuration once and then follows its events knows of it. */
export class ConfigReplay {
  /** Things by name, from the first view on; undefined before it. */
  names: Set<string> | undefined;
  /** What was switched at run time since the thing is there. */
  readonly switches = new Map<string, boolean>();
  readonly touches = new Map<string, Touch[]>();
  /** Every event that says that something came, went or was switched, by `type name`. */
  readonly told = new Map<string, ConfigEvent[]>();
  revision = 0;
  #rejected = false;

  constructor(
    private readonly city: string,
    private readonly violations: Violations,
  ) {}

  apply(event: ConfigEvent): void {
    const { type } = event;
    if (type === 'config.reloaded') return this.#reloaded(event);
    if (type === 'config.rejected') {
      if (event.payload.revision !== this.revision) this.#once(`files were rejected at another revision than ${this.revision}`, event);
      this.#rejected = true;
      return;
    }
    const name = nameOf(event);
    add(this.told, `${type} ${name}`, event);
    if (type.endsWith('.suspended') || type.endsWith('.resumed')) {
      this.switches.set(name, type.endsWith('.suspended'));
      return;
    }
    this.#thing(name, event);
  }

  #thing(name: string, event: ConfigEvent): void {
    const { type, seq, payload } = event;
    const { revision = 0, changed = [] } = payload;
    const created = type.endsWith('.created');
    if (revision !== this.revision + 1) this.#once(`${type} of ${name} belongs to revision ${revision} after ${this.revision}`, event);
    for (const key of changed) add(this.touches, `${name} ${key}`, { seq, revision, created });
    const { names } = this;
    if (names === undefined) return;
    if (created && names.has(name)) this.#once(`${name} came although it was there`, event);
    if ((type.endsWith('.updated') || type.endsWith('.deleted')) && !names.has(name))
      this.#once(`${type} of ${name}, which is not there`, event);
    if (type.endsWith('.deleted')) {
      names.delete(name);
      this.switches.delete(name);
    } else names.add(name);
  }

  /** A revision is told once; again only when files that could not be used are mended. */
  #reloaded(event: ConfigEvent): void {
    const { revision = 0, changed_total: changed = 0 } = event.payload;
    const mended = this.#rejected && revision === this.revision && changed === 0;
    if (revision !== this.revision + 1 && !mended) this.#once(`revision ${revision} was told after ${this.revision}`, event);
    this.revision = Math.max(revision, this.revision);
    this.#rejected = false;
  }

  #once(message: string, event: ConfigEvent): void {
    this.violations.add('config once', `${this.city} at ${event.seq}: ${message}`, event);
  }
}

function nameOf({ type, subject = '', payload }: ConfigEvent): string {
  const kind = type.split('.')[0]!;
  return kind === 'patch' ? `patch ${payload.kind} ${payload.target}` : `${kind} ${subject}`;
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const own = map.get(key);
  if (own === undefined) map.set(key, [value]);
  else own.push(value);
}
