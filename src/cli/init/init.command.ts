import { basename, dirname, join, resolve, sep } from 'node:path';
import { Option, type Command } from 'commander';
import { ConnectionError } from '../../client/problems.js';
import { ask } from '../api.js';
import { runOperation, withOperation } from '../cities/lifecycle.js';
import { contextOf, flagsOf, keyHeader, withExamples, withTarget, type Context } from '../command.js';
import { readiness } from '../doctor/provider-checks.js';
import { isLocal } from '../doctor/server-checks.js';
import { ApiError, CliError, UnreachableError } from '../errors.js';
import type { Io } from '../io.js';
import { filesOf, nextOf, TEMPLATES, type Template } from './templates.js';
import { writeFiles } from './write.js';

interface Flags {
  readonly template: Template;
  readonly name?: string;
  readonly json?: boolean;
}

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$/;

export function addInit(program: Command, io: Io): void {
  const init = program
    .command('init')
    .argument('[dir]', 'directory of the city; it has to lie below the cities root of the server', '.')
    .description('write the files of a new city, with comments, and start it where a server runs')
    .addOption(new Option('--template <kind>', 'what its agents run').choices(TEMPLATES).default('loopback'))
    .option('--name <name>', "name of the city (default: the directory's)");
  withTarget(withOperation(init));
  withExamples(init, 'svc init', 'svc init .svc/cities/works --template script', 'svc init --template claude --name demo');
  init.action(async (dir: string, _options, command: Command) => {
    const flags = flagsOf<Flags>(command);
    const folder = resolve(io.cwd, dir);
    const name = flags.name ?? basename(folder);
    if (!NAME.test(name)) throw new CliError(`"${name}" cannot be the name of a city: give another one with --name`);
    const context = contextOf(command, io);
    const runs = await answers(context);
    if (runs && !isLocal(new URL(context.api.url)))
      throw new CliError(`the server at ${context.api.url} is on another machine, where these files are needed: run it there`);
    const written = await writeFiles(folder, filesOf({ name, template: flags.template, api: context.api.url }));
    if (!runs) return later(io, folder, name, flags);
    await runOperation(command, io, {
      operation: 'city.register',
      city: name,
      title: `starting ${name}`,
      success: (path) => `${name} is running: ${path}`,
      begin: async ({ api }, options) => {
        const params = { header: keyHeader(options) };
        const body = { dir: folder, name };
        try {
          return (await ask(api, (signal) => api.http.POST('/v0/cities/register', { params, body, signal }))).data;
        } catch (error) {
          // What the server does not take is no city: nothing of it stays. Where it is not known whether it has, all of it does.
          if (error instanceof ApiError && error.status < 500 && error.sentKey === undefined) {
            await written.undo();
            throw elsewhere(error, name, flags.template);
          }
          if (error instanceof CliError) {
            const stays = `the files stay: \`${registration(folder, name, error.sentKey)}\` tries it again`;
            error.message = `${error.message || 'interrupted'}; ${stays}`;
            // With it this command would be no way: its files are there.
            error.sentKey = undefined;
          }
          throw error;
        }
      },
    });
    if (flags.json === true) return;
    await tellProvider(context, io, flags.template);
    await io.out(
      `\nnext:\n${nextOf(flags.template, name)
        .map((line) => `  ${line}\n`)
        .join('')}`,
    );
  });
}

/** Whether a server is there. What else may be wrong with it tells the request itself. @throws CliError where nobody knows: something is there */
async function answers({ api }: Context): Promise<boolean> {
  try {
    await ask(api, (signal) => api.http.GET('/health', { signal }));
    return true;
  } catch (error) {
    if (error instanceof ApiError) return true;
    if (error instanceof UnreachableError && error.cause instanceof ConnectionError && !error.cause.mayHaveHappened) return false;
    throw error;
  }
}

async function later(io: Io, folder: string, name: string, { json }: Flags): Promise<void> {
  if (json === true) return io.out(`${JSON.stringify({ dir: folder, registered: false })}\n`);
  const serve = isBelow(citiesRoot(io), folder) ? 'svc serve' : `SVC_CITIES_ROOT=${inShell(dirname(folder))} svc serve`;
  await io.out(
    `${folder} has the files of the city ${name}; no server runs that could start it\n\nnext:\n  ${serve}\n  ${registration(folder, name)}\n  svc doctor\n`,
  );
}

/** What registers the city of these files. A key is for the request that was sent, which has named the city. */
function registration(folder: string, name: string, key?: string): string {
  const named = key === undefined && name === basename(folder) ? '' : ` --name ${name}`;
  return `svc city register ${inShell(folder)}${named}${key === undefined ? '' : ` --idempotency-key ${inShell(key)}`}`;
}

/** Where the cities of a server lie that is started here. */
function citiesRoot({ env, cwd }: Io): string {
  return resolve(cwd, env.SVC_CITIES_ROOT || join(env.SVC_DATA_DIR || '.svc', 'cities'));
}

const isBelow = (root: string, folder: string): boolean => folder.startsWith(root.endsWith(sep) ? root : root + sep);

const inShell = (path: string): string => (/^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

/** A directory that the server may not use: it says where cities may lie. */
function elsewhere(error: ApiError, name: string, template: Template): CliError {
  const root = /it must lie inside (\S+)/.exec(error.message)?.[1];
  if (root === undefined) return error;
  return error.saying(
    `cities of this server lie in ${root}: svc init ${root}/${name} --template ${template}    # or start it with SVC_CITIES_ROOT`,
  );
}

/** Whether its agents can be started is known before somebody waits for one. */
async function tellProvider({ api }: Context, io: Io, template: Template): Promise<void> {
  if (template === 'script' || template === 'loopback') return;
  const [found] = await readiness(api, [template]);
  if (found === undefined || found.status === 'ok') return;
  io.err(
    `warning: ${found.message}\n${found.mend === undefined ? '' : `  $ ${found.mend}    # on the host of the workers, as the user of the service\n`}`,
  );
}
