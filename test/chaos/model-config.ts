import type { Edit, EditKind } from './history-config.js';
import { ModelConfigs, type City } from './model-configs.js';
import type { World } from './model-world.js';
import type { Random } from './random.js';

type Kind = 'agent' | 'provider' | 'rig';
const KEYS = { agent: 'description', provider: 'display_name', rig: 'path' } as const;
const PATCH = 'patch agent mayor';
const PATCHED = `${PATCH} tmux_alias`;

/** Those who change the configuration of the model's cities, through the API and on disk. */
export class ModelConfig {
  readonly #configs: ModelConfigs;
  #serial = 0;

  constructor(
    private readonly world: World,
    /** Of its own: what is drawn here does not change what the others do. */
    private readonly random: Random,
  ) {
    this.#configs = new ModelConfigs(world, random);
  }

  step(): void {
    const { random } = this;
    const running = [...this.world.running].sort();
    if (running.length === 0 || random.chance(0.7)) return;
    // In few cities: the streams of the others stay quiet at times.
    const city = this.#configs.of(random.pick(running.slice(0, 2)));
    const next = random.next();
    if (next < 0.25) this.#create(city);
    else if (next < 0.4) this.#update(city);
    else if (next < 0.5) this.#remove(city);
    else if (next < 0.65) this.#put(city);
    else if (next < 0.72) this.#unput(city);
    else if (next < 0.82) this.#switch(city);
    else if (next < 0.92) this.#save(city);
    else this.#configs.look(city);
  }

  final(): void {
    this.#configs.final();
  }

  #marker(): string {
    return `c7-${++this.#serial}`;
  }

  #create(city: City): void {
    const { world } = this;
    const marker = this.#marker();
    const kind = this.random.pick(['agent', 'agent', 'provider', 'rig'] as const);
    const subject = `${kind[0]}-${marker}`;
    const value = kind === 'rig' ? `rigs/${subject}` : marker;
    const key = `${kind} ${subject} ${KEYS[kind]}`;
    const keyed = this.random.chance(0.6) ? { key: `k-${marker}` } : {};
    const edit = { kind: `${kind}.create` as EditKind, subject, marker, sets: { [key]: value }, ...keyed };
    if (city.broken || this.random.chance(0.05)) {
      if (!city.broken && world.is('refused edit carried out', 0.8)) this.#configs.commit(city, { [key]: value });
      else if (world.is('refused value left in the files', 0.8)) city.files.set(PATCHED, marker);
      return this.#tell(city, edit, 'refused');
    }
    if (!world.is('edit acknowledged and lost', 0.2)) this.#configs.commit(city, { [key]: value });
    const { revision } = city;
    if (keyed.key !== undefined && world.is('edit made twice under a key')) {
      this.#configs.commit(city, { [key]: null });
      this.#configs.commit(city, { [key]: value });
    }
    this.#tell(city, edit, 'acknowledged', revision);
    if (keyed.key === undefined || this.random.chance(0.5)) return;
    const other = world.is('different answers under the key of an edit') ? '{"again":true}' : '{}';
    // A repeat names no revision.
    this.#tell(city, edit, 'acknowledged', undefined, other);
  }

  #update(city: City): void {
    const subject = this.#one(city, 'agent');
    if (subject === undefined) return;
    const marker = this.#marker();
    const key = `agent ${subject} description`;
    this.#edit(city, { kind: 'agent.update', subject, marker, sets: { [key]: marker } });
  }

  #remove(city: City): void {
    const kind = this.random.pick(['agent', 'provider', 'rig'] as const);
    const subject = this.#one(city, kind);
    if (subject === undefined) return;
    const sets = { [`${kind} ${subject} ${KEYS[kind]}`]: null };
    this.#edit(city, { kind: `${kind}.remove`, subject, marker: this.#marker(), sets });
  }

  #put(city: City): void {
    const marker = this.#marker();
    this.#edit(city, { kind: 'patch.put', subject: 'mayor', marker, sets: { [PATCHED]: marker } });
  }

  #unput(city: City): void {
    if (!city.values.has(PATCHED)) return;
    this.#edit(city, { kind: 'patch.remove', subject: 'mayor', marker: this.#marker(), sets: { [PATCHED]: null } });
  }

  #edit(city: City, edit: Pick<Edit, 'kind' | 'subject' | 'marker' | 'sets'>): void {
    const { world } = this;
    if (city.broken || this.random.chance(0.05)) {
      if (!city.broken && world.is('refused edit carried out', 0.8)) this.#configs.commit(city, edit.sets);
      const [key] = Object.keys(edit.sets);
      const wasThere = city.values.get(key!);
      if (edit.sets[key!] !== null && world.is('half of an edit shown', 0.9)) {
        city.values.set(key!, edit.marker);
        this.#configs.look(city);
        if (wasThere === undefined) city.values.delete(key!);
        else city.values.set(key!, wasThere);
      }
      return this.#tell(city, edit, 'refused');
    }
    if (this.random.chance(0.1)) {
      if (this.random.chance(0.5)) this.#configs.commit(city, edit.sets);
      return this.#tell(city, edit, 'unknown');
    }
    if (!world.is('edit acknowledged and lost', 0.2)) this.#configs.commit(city, edit.sets);
    this.#tell(city, edit, 'acknowledged', city.revision);
  }

  #switch(city: City): void {
    const { world } = this;
    const kind = this.random.pick(['agent', 'rig'] as const);
    const subject = this.#one(city, kind);
    if (subject === undefined) return;
    const suspended = this.random.chance(0.5);
    const name = `${kind} ${subject}`;
    const edit = { kind: `${kind}.${suspended ? 'suspend' : 'resume'}` as EditKind, subject, marker: this.#marker(), sets: {} };
    if ((city.switches.get(name) ?? false) !== suspended && !world.is('switch acknowledged and lost', 0.8)) {
      city.switches.set(name, suspended);
      if (!world.is('switch without an event'))
        world.log.append(city.name, `${kind}.${suspended ? 'suspended' : 'resumed'}`, { subject, payload: { [kind]: subject } });
    }
    this.#tell(city, edit, 'acknowledged');
  }

  #save(city: City): void {
    const { world } = this;
    const broken = !city.broken && this.random.chance(0.3);
    const from = (world.now += 1);
    const value = this.#configs.save(city, broken);
    const kept = [...city.files.values()].filter((text) => /^c7-\d+$/.test(text));
    const how = this.random.pick(['renamed', 'in place'] as const);
    world.history.saves.push({ city: city.name, value, how, from, to: (world.now += 1), kept, ...(broken ? { broken } : {}) });
  }

  #one(city: City, kind: Kind): string | undefined {
    const names = [...city.values.keys()].flatMap((key) => new RegExp(`^${kind} (\\S+-c7-\\d+) ${KEYS[kind]}$`).exec(key)?.[1] ?? []);
    return names.length === 0 ? undefined : this.random.pick(names);
  }

  #tell(
    city: City,
    edit: Pick<Edit, 'kind' | 'subject' | 'marker' | 'sets' | 'key'>,
    outcome: Edit['outcome'],
    revision?: number,
    body = '{}',
  ): void {
    const { world } = this;
    const from = (world.now += 1);
    const common = { ...edit, city: city.name, replica: this.random.pick(world.replicas).name, from, to: (world.now += 5), outcome };
    if (outcome === 'unknown') world.history.edits.push(common);
    else if (outcome === 'refused') world.history.edits.push({ ...common, status: 409, body, problem: true });
    else {
      const at = revision === undefined ? {} : { revision, index: world.log.stream(city.name).rows.length };
      world.history.edits.push({ ...common, status: 200, body, ...at });
    }
  }
}
