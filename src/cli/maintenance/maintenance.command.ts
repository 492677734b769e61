import type { Command } from 'commander';
import { ask, type Api } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { TIMEOUT, waitingOf } from '../ending.js';
import { ApiError, CliError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import type { Io } from '../io.js';
import { EVERY_MS, listAll, withRereading, type AllFlags } from '../listing.js';
import { lookUntil } from '../pauses.js';
import { historyTable, outcomeOf, statusDetails, type Run } from './view.js';

interface Flags {
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

const JSON_LINE = ['--json', 'print the answer as one JSON line'] as const;
/** Between two looks at a cycle that is waited for, in milliseconds. */
const LOOK_MS = 300;
/** Of the history that the service keeps. */
const MOST = 100;

export function addMaintenance(program: Command, io: Io): void {
  const maintenance = program
    .command('maintenance')
    .description('what a city does not need any more, taken away, and how large its store is');
  addStatus(maintenance, io);
  addRun(maintenance, io);
  addHistory(maintenance, io);
}

function addStatus(maintenance: Command, io: Io): void {
  const status = cityCommand(maintenance, 'status', 'show the last cycle, and when the next one comes').option(...JSON_LINE);
  withExamples(status, 'svc maintenance status', 'svc maintenance status --json');
  status.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const data = await statusOf(api, city);
    return flags.json === true ? printJson(io, data) : io.out(statusDetails(data));
  });
}

function addRun(maintenance: Command, io: Io): void {
  const run = cityCommand(maintenance, 'run', 'begin a cycle now; prints when it was begun')
    .option('--wait', 'wait until it has ended, and exit 1 unless it succeeded')
    .option(...TIMEOUT)
    .option(...JSON_LINE);
  withExamples(run, 'svc maintenance run --wait');
  run.action(async (_options, action: Command) => {
    const { api, city, flags, path } = await cityContextOf<Flags>(action, io);
    const timeoutMs = waitingOf(flags);
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/maintenance/dolt-gc', { params, signal })).catch(hints);
    const at = data.started_at ?? '';
    if (flags.wait !== true) return flags.json === true ? printJson(io, data) : io.out(`${at}\n`);
    const look = async () => (await statusOf(api, city)).history?.find((one) => one.started_at === at);
    const goesOn = 'the cycle goes on: see `svc maintenance status`';
    const ended = await lookUntil(io, path, look, { everyMs: LOOK_MS, timeoutMs, goesOn });
    await (flags.json === true ? printJson(io, { ...data, run: ended }) : io.out(historyTable([ended], io)));
    if (ended.err !== undefined) throw new CliError(outcomeOf(ended));
  });
}

function addHistory(maintenance: Command, io: Io): void {
  const history = cityCommand(maintenance, 'history', 'list the last cycles, newest first')
    .option('--limit <n>', `at most so many, up to ${MOST}`, '16')
    .option('--json', 'print one JSON line for each');
  withRereading(history);
  withExamples(history, 'svc maintenance history', 'svc maintenance history --limit 100 --json');
  history.action(async (_options, action: Command) => {
    const context = await cityContextOf<Flags & AllFlags>(action, io);
    const { api, city, flags } = context;
    const limit = Number(flags.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST) throw new CliError(`--limit has to be a number from 1 to ${MOST}`);
    await listAll<Run>(context, {
      empty: 'no cycles yet: `svc maintenance run` begins one',
      // Events of cycles are the supervisor's, not the city's.
      everyMs: EVERY_MS,
      show: (runs) => historyTable(runs, io),
      page: async () => ({ items: ((await statusOf(api, city, limit)).history ?? []).toReversed() }),
    });
  });
}

async function statusOf(api: Api, city: string, history?: number) {
  const params = { path: { cityName: city }, query: history === undefined ? {} : { history } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/maintenance/status', { params, signal })).catch(hints);
  return data;
}

function hints(error: unknown): never {
  if (!(error instanceof ApiError)) throw error;
  const { message, code } = error;
  // The service answers 503 and is available all the same: the city has said that it wants none.
  if (message.includes('[maintenance.dolt]'))
    throw new CliError(`${message}; write \`enabled = true\` there`, EXIT.refused, { cause: error });
  const said =
    code === 'operation-in-progress'
      ? `a cycle is in flight${/"started_at":"([^"]+)"/.exec(message)?.[1]?.replace(/^/, ' since ') ?? ''}; see \`svc maintenance status\``
      : message;
  throw error.saying(said);
}
