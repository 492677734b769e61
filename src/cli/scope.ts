import { readFileSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'smol-toml';
import type { Api } from './api.js';
import { citiesOf } from './cities/cities-of.js';
import { contextInUse } from './contexts/file.js';
import { enclosingCity } from './enclosing-city.js';
import { CliError } from './errors.js';
import type { Io } from './io.js';

/** What a command is about: one city, or the supervisor when there is no name. */
export interface Scope {
  readonly city: string | undefined;
}

export interface ScopeOptions {
  /** `--city <name>`, or false for `--no-city`. */
  readonly city?: string | false;
  readonly api?: string;
  readonly context?: string;
}

/** `--city`, then `SVC_CITY`, then that of the context in use, then the city whose directory encloses the working directory, then the supervisor. */
export async function resolveScope(options: ScopeOptions, io: Io, api: Api): Promise<Scope> {
  if (options.city === false) return { city: undefined };
  if (options.city !== undefined) {
    if (options.city.trim() === '') throw new CliError('--city: the name is empty');
    return { city: options.city };
  }
  if (io.env.SVC_CITY) return { city: io.env.SVC_CITY };
  // A context's city is one of its service: with another address it means nothing.
  const named = options.api === undefined && !io.env.SVC_API_URL ? contextInUse(io, options.context)?.city : undefined;
  if (named !== undefined) return { city: named };
  const dir = enclosingCity(io.cwd);
  return { city: dir === undefined ? undefined : await registeredName(dir, api) };
}

/** The registered name counts, whatever the files say; without an entry for the directory the files are believed. */
async function registeredName(dir: string, api: Api): Promise<string> {
  const cities = await citiesOf(api);
  const real = realpathSync(dir);
  const entry = cities.find((city) => city.path === dir || city.path === real);
  return entry?.name ?? nameInFiles(dir) ?? basename(real);
}

function nameInFiles(dir: string): string | undefined {
  try {
    const name = parse(readFileSync(join(dir, '.gc', 'site.toml'), 'utf8')).workspace_name;
    return typeof name === 'string' && name !== '' ? name : undefined;
  } catch {
    return undefined;
  }
}
