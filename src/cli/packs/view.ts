import type { Schemas } from '../api.js';
import { age } from '../duration.js';
import type { Io } from '../io.js';
import { table } from '../table.js';

export type Pack = Schemas['PackResponse'];

const COMMIT = 12;

/** `1.4.0 (3f2a…)`: what a repository is pinned to. */
function pinned(version: string | undefined, commit: string | undefined): string {
  const short = commit?.slice(0, COMMIT);
  if (version === undefined || version.startsWith('sha:')) return short ?? version ?? '';
  return short === undefined ? version : `${version} (${short})`;
}

export function packTable(packs: readonly Pack[], io: Io): string {
  const rows = packs.map((pack) => [
    pack.name,
    pack.version ?? '',
    pinned(pack.resolved_version ?? pack.pack_version, pack.commit),
    pack.source ?? '',
    pack.description ?? '',
  ]);
  return table(['IMPORT', 'WANTED', 'VERSION', 'SOURCE', 'ABOUT'], rows, io);
}

export function pinTable(pins: Schemas['PackInstallBody']['pins'], io: Io): string {
  const rows = pins.map((pin) => [pin.source, pinned(pin.version, pin.commit), age(pin.fetched)]);
  return table(['SOURCE', 'VERSION', 'FETCHED'], rows, io);
}
