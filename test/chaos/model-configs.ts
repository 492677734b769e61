import type { ConfigEnd, ConfigView } from './history-config.js';
import type { World } from './model-world.js';
import type { Random } from './random.js';

/** A city's configuration in the model: what it runs, what the files say, and what the editor on disk has counted up to. */
export interface City {
  readonly name: string;
  /** By key, as `agent scout description`. */
  readonly values: Map<string, string>;
  readonly files: Map<string, string>;
  readonly switches: Map<string, boolean>;
  readonly revisions: number[];
  /** The names in the order of the revisions before, for a replica that stays behind. */
  before: readonly string[];
  revision: number;
  /** What the city runs, and what is in the file. */
  disk: number | undefined;
  saved: number | undefined;
  broken: boolean;
}

const MAYOR = 'agent mayor';
const PATCHED = 'patch agent mayor tmux_alias';
const nameOf = (key: string): string => key.slice(0, key.lastIndexOf(' '));

/** The files and revisions of the model's cities, their events, and what is seen of them. */
export class ModelConfigs {
  readonly #cities = new Map<string, City>();
  #saved = 0;

  constructor(
    private readonly world: World,
    private readonly random: Random,
  ) {}

  /** A city comes up with its first revision, and somebody looks at it before anybody changes it. */
  of(name: string): City {
    let city = this.#cities.get(name);
    if (city === undefined) {
      const maps = { values: new Map<string, string>(), files: new Map<string, string>(), switches: new Map<string, boolean>() };
      city = { name, ...maps, revisions: [], before: [], revision: 0, disk: undefined, saved: undefined, broken: false };
      this.#cities.set(name, city);
      this.#reloaded(city, []);
      this.look(city);
    }
    return city;
  }

  /** A new revision with the files that belong to it. */
  commit(city: City, sets: Readonly<Record<string, string | null>>): void {
    const { world } = this;
    city.before = this.#names(city);
    if (!world.is('event of a rolled back edit', 0.1)) {
      if (city.values.size > 1 && world.is('edit of another replica overwritten', 0.3)) {
        const [other] = [...city.values.keys()].filter((key) => sets[key] === undefined);
        if (other !== undefined && other !== PATCHED) for (const map of [city.values, city.files]) map.delete(other);
      }
    } else {
      for (const [key, value] of Object.entries(sets)) this.#event(city, key, value);
      return this.#reloaded(city, Object.keys(sets));
    }
    for (const [key, value] of Object.entries(sets)) {
      if (!world.is('edit without an event', 0.2)) this.#event(city, key, value);
      this.#set(city.values, key, value);
      if (!world.is('files behind the revision', 0.1)) this.#set(city.files, key, value);
      if (value === null) city.switches.delete(nameOf(key));
    }
    if (city.saved !== undefined && world.is('save on disk overwritten')) city.disk = city.saved = city.saved - 1;
    this.#reloaded(city, Object.keys(sets));
  }

  save(city: City, broken: boolean): number {
    const { world } = this;
    city.saved = ++this.#saved;
    if (broken && !world.is('rejected files become a revision')) {
      world.log.append(city.name, 'config.rejected', { subject: city.name, payload: { revision: city.revision } });
      city.broken = true;
      return city.saved;
    }
    if (broken) {
      city.revision++;
      city.values.clear();
      this.#told(city, ['workspace']);
      city.broken = true;
      return city.saved;
    }
    city.broken = false;
    if (!world.is('save on disk not noticed', 0.9)) city.disk = city.saved;
    this.#reloaded(city, ['convergence.max_total']);
    return city.saved;
  }

  look(city: City): void {
    this.world.history.configs.push(this.#view(city, this.random.pick(this.world.replicas).name));
  }

  /** Files are mended and everything is quiet. */
  final(): void {
    const { world } = this;
    for (const city of this.#cities.values()) {
      if (city.broken) {
        const from = (world.now += 1);
        const value = this.save(city, false);
        world.history.saves.push({ city: city.name, value, how: 'renamed', from, to: (world.now += 1), kept: [...city.files.values()] });
      }
      world.history.ends.push(this.#end(city));
      for (const { name } of world.replicas) {
        const view = this.#view(city, name);
        const behind = world.is('replica behind the revision') ? { revision: city.revision - 1 } : {};
        world.history.configs.push({ ...view, ...behind });
        const { values: _values, disk: _disk, revision: _revision, ...lists } = view;
        const names = world.is('lists that differ') ? city.before.slice(1) : lists.names;
        const suspended = Object.fromEntries([...city.switches].map(([thing, is]) => [thing, [false, is] as const]));
        world.history.configs.push({ ...lists, names, source: `lists of ${name}`, suspended });
      }
    }
  }

  #end(city: City): ConfigEnd {
    const { world } = this;
    const { name, revision, revisions, files, saved } = city;
    const same = files.size === city.values.size && [...files].every(([key, value]) => city.values.get(key) === value);
    const left = world.is('files that cannot be used') ? { valid: false, differences: 0 } : { valid: true, differences: same ? 0 : 1 };
    return {
      city: name,
      held: world.is('killed edit still held') ? 1 : 0,
      revision,
      revisions: revisions.slice(-50),
      rejected: false,
      temporaries: world.is('temporary file left') ? ['.svc-e1.new.city.toml'] : [],
      aside: world.is('folder taken away for good') ? ['mayor'] : [],
      files: Object.fromEntries(files),
      halves: world.is('half of an edit in the files') ? ['rig web without its place'] : [],
      ...left,
      ...(saved === undefined ? {} : { disk: saved }),
    };
  }

  #view(city: City, source: string): ConfigView {
    const { world } = this;
    const values: Record<string, string> = Object.fromEntries(city.values);
    if (values[PATCHED] !== undefined && !world.is('patch without an effect')) values[`${MAYOR} tmux_alias`] = values[PATCHED];
    const index = world.log.stream(city.name).rows.length;
    const disk = city.disk === undefined ? {} : { disk: city.disk };
    return { city: city.name, source, at: world.now, index, revision: city.revision, names: this.#names(city), values, ...disk };
  }

  #names(city: City): string[] {
    return [MAYOR, ...new Set([...city.values.keys()].map(nameOf))];
  }

  #set(map: Map<string, string>, key: string, value: string | null): void {
    if (value === null) map.delete(key);
    else map.set(key, value);
  }

  #event(city: City, key: string, value: string | null): void {
    const [kind = '', ...rest] = nameOf(key).split(' ');
    const isThere = city.values.has(key);
    const changed = [key.slice(key.lastIndexOf(' ') + 1)];
    const revision = city.revision + 1;
    const payload = { revision, changed, ...(kind === 'patch' ? { kind: rest[0], target: rest[1] } : {}) };
    const end = value === null ? 'deleted' : kind === 'patch' ? 'set' : isThere ? 'updated' : 'created';
    this.world.log.append(city.name, `${kind}.${end}`, { subject: rest.at(-1)!, payload });
  }

  #reloaded(city: City, changed: readonly string[]): void {
    city.revision += this.world.is('revision skipped', 0.1) ? 2 : 1;
    this.#told(city, changed);
  }

  #told(city: City, changed: readonly string[]): void {
    const { world } = this;
    const { revision, name } = city;
    city.revisions.push(revision);
    const told = { subject: name, payload: { revision, cause: 'api', changed, changed_total: changed.length } };
    if (!world.is('revision not told', 0.1)) world.log.append(name, 'config.reloaded', told);
    if (world.is('revision told twice', 0.1)) world.log.append(name, 'config.reloaded', told);
  }
}
