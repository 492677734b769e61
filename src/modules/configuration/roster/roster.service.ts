import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Roster, RosterAgent, RosterRig } from './roster.js';
import { RosterRepository, type AddressedAgent, type NewRig, type RecordedRig, type RigRow, type SwitchRow } from './roster.repository.js';

export interface Switches {
  /** By qualified name. */
  readonly agents: ReadonlyMap<string, boolean>;
  readonly rigs: ReadonlyMap<string, boolean>;
  /** Whether the city is suspended as a whole, by its switch or its files; false where it is not registered. */
  readonly city: boolean;
}

/** Rigs and agents of a city: their names, id prefixes and addresses. The city itself is the rig `''`. */
@Injectable()
export class RosterService {
  constructor(private readonly repository: RosterRepository) {}

  /**
   * Records what the files of a city name now. A rig keeps the prefix that its ids already have unless the files ask for
   * another; a derived prefix that is taken gets a number.
   */
  async record(tx: Tx, streamId: number, roster: Roster): Promise<void> {
    const names = roster.rigs.map(({ name }) => name);
    const before = await this.repository.recorded(tx, streamId, names);
    const prefixes = assignPrefixes(roster.rigs, new Map(before.map(({ name, prefix }) => [name, prefix])));
    const rigs = roster.rigs.map(({ name, suspendedOnStart }, n) => ({ name, prefix: prefixes[n]!.prefix, suspendedOnStart }));
    const there = before.filter(({ present }) => present);
    if (there.length === 0) await this.repository.addRigs(tx, streamId, rigs);
    else if (!isSame(there, rigs)) await this.repository.replaceRigs(tx, streamId, rigs);
    await this.repository.replaceAgents(tx, streamId, roster.agents);
  }

  /** The rigs that are there, the city itself first. */
  rigs(streamId: number, tx?: Tx): Promise<RigRow[]> {
    return this.repository.rigs(streamId, tx);
  }

  /** Agents and named sessions by name; a name may stand for both. */
  agents(streamId: number, tx?: Tx): Promise<RosterAgent[]> {
    return this.repository.agents(streamId, tx);
  }

  /** The switches that people set at run time, by name; what has none is as its files say. The city's is what holds of it. */
  async switches(streamId: number, tx?: Tx): Promise<Switches> {
    const rows = await this.repository.switches(streamId, tx);
    const of = (kind: SwitchRow['kind']): Map<string, boolean> =>
      new Map(rows.filter((row) => row.kind === kind).map(({ name, suspended }) => [name, suspended]));
    return { agents: of('agent'), rigs: of('rig'), city: rows.some(({ kind, suspended }) => kind === 'city' && suspended) };
  }

  /**
   * Suspends or resumes an agent whatever its files say; with null they count again. True when that changes the switch,
   * undefined when the city has no such agent. Two at once do not both change it.
   */
  switchAgent(tx: Tx, streamId: number, name: string, suspended: boolean | null): Promise<boolean | undefined> {
    return this.repository.switchAgent(tx, streamId, name, suspended);
  }

  /** As `switchAgent` for a rig; answers how the switch stood before, undefined when the city has no such rig. */
  switchRig(tx: Tx, streamId: number, name: string, suspended: boolean | null): Promise<{ readonly before: boolean | null } | undefined> {
    return this.repository.switchRig(tx, streamId, name, suspended);
  }

  /** The canonical name of an agent: given in full, bare within `rig`, or bare and unique in the city. Undefined for anything else. */
  address(streamId: number, text: string, rig = '', tx?: Tx): Promise<string | undefined> {
    return this.repository.address(streamId, text, rig, tx);
  }

  /** What `address` says to each of `texts`, in their order, with the agents that an ambiguous one may mean. */
  addresses(streamId: number, texts: readonly string[], rig = '', tx?: Tx): Promise<AddressedAgent[]> {
    return this.repository.addresses(streamId, texts, rig, tx);
  }
}

/** @param there in the order of their positions */
function isSame(there: readonly RecordedRig[], rigs: readonly NewRig[]): boolean {
  return (
    there.length === rigs.length &&
    there.every(({ name, prefix, position, suspendedOnStart }, n) => {
      const rig = rigs[n]!;
      return position === n && name === rig.name && prefix === rig.prefix && suspendedOnStart === rig.suspendedOnStart;
    })
  );
}

/** Declared prefixes first, then those that rigs had before, then derived ones with the lowest free number. */
export function assignPrefixes(
  rigs: readonly Pick<RosterRig, 'name' | 'prefix' | 'derivedPrefix'>[],
  before: ReadonlyMap<string, string>,
): { name: string; prefix: string }[] {
  const taken = new Set(rigs.flatMap((rig) => rig.prefix ?? []));
  const kept = new Map<string, string>();
  for (const { name, prefix } of rigs) {
    const old = before.get(name);
    if (prefix !== undefined || old === undefined || taken.has(old)) continue;
    taken.add(old);
    kept.set(name, old);
  }
  return rigs.map(({ name, prefix, derivedPrefix }) => {
    if (prefix !== undefined) return { name, prefix };
    const old = kept.get(name);
    if (old !== undefined) return { name, prefix: old };
    let free = derivedPrefix;
    for (let n = 2; taken.has(free); n++) free = `${derivedPrefix}${n}`;
    taken.add(free);
    return { name, prefix: free };
  });
}
