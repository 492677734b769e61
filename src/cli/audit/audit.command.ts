import { Option, type Command } from 'commander';
import { ask, telling, type Api } from '../api.js';
import { cityCommand, contextOf, flagsOf, pathOf, withExamples } from '../command.js';
import { CliError, InterruptedError } from '../errors.js';
import type { ApiProblem } from '../../client/problems.js';
import { followFrames, type OpenStream } from '../../client/follow.js';
import type { Io } from '../io.js';
import { pausesOf } from '../pauses.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { defined, pastOf } from '../values.js';
import { auditLine, auditTable, type AuditRecord } from './view.js';

const OUTCOMES = ['accepted', 'refused', 'failed'] as const;

interface AuditFlags extends ListFlags {
  readonly key?: string;
  readonly operation?: string;
  readonly outcome?: (typeof OUTCOMES)[number];
  readonly request?: string;
  readonly since?: string;
  readonly until?: string;
  readonly follow?: boolean;
}

/** What only looks back. */
const BACKWARDS = ['since', 'until', 'request'] as const;

export function addAudit(program: Command, io: Io): void {
  const audit = cityCommand(program, 'audit', 'show who did what with which key, newest first (needs a key with the right audit)')
    .option('--key <key>', 'only of this key, by its id or its name')
    .option('--operation <id>', 'only this operation, as the OpenAPI document calls it')
    .addOption(new Option('--outcome <outcome>', 'only those that ended so').choices(OUTCOMES))
    .option('--request <id>', 'only of this request (X-SVC-Request-Id), or the one that began this operation')
    .option('--since <when>', 'only after that: a duration before now such as 1h, or a time')
    .option('--until <when>', 'only before that')
    .option('--follow', 'print what is done from now on, until Ctrl-C');
  withLimit(audit);
  withExamples(
    audit,
    'svc audit --since 1h',
    'svc audit --city alpha --outcome refused',
    'svc audit --no-city --key ci --json',
    'svc audit --follow',
  );
  audit.action(async (_options, command: Command) => {
    const context = contextOf(command, io);
    const flags = flagsOf<AuditFlags>(command);
    const { city } = await context.scope();
    const filter = defined({ city, key: flags.key, operation: flags.operation, outcome: flags.outcome });
    const { api } = context;
    if (flags.follow === true) {
      const backwards = BACKWARDS.find((flag) => flags[flag] !== undefined);
      if (backwards !== undefined) throw new CliError(`--follow tells what is done from now on and takes no --${backwards}`);
      return follow(
        (lastEventId) =>
          api.client.open('/v0/audit/stream', {
            query: filter,
            header: defined({ 'Last-Event-ID': lastEventId }),
            signal: io.signal,
          }),
        api,
        flags.json === true,
        io,
      );
    }
    const times = defined({ ...pastTimes(flags), request_id: flags.request });
    return list<AuditRecord>(
      { ...context, city: city ?? '', flags, path: pathOf(command) },
      {
        plural: 'records',
        empty: Object.keys({ ...filter, ...times }).length === 0 ? 'nothing was done' : 'no records match',
        pageSize: 1_000,
        show: (records) => auditTable(records, io),
        page: async (page) => {
          const query = { ...filter, ...times, ...page };
          return (await ask(api, (signal) => api.http.GET('/v0/audit', { params: { query }, signal }))).data;
        },
      },
    );
  });
}

function pastTimes({ since, until }: AuditFlags): { since: string | undefined; until: string | undefined } {
  return {
    since: since === undefined ? undefined : pastOf('--since', since),
    until: until === undefined ? undefined : pastOf('--until', until),
  };
}

async function follow(open: OpenStream, api: Api, json: boolean, io: Io): Promise<void> {
  const again = ({ code }: ApiProblem, at: string | undefined): boolean =>
    at !== undefined && (code === 'invalid-cursor' || code === 'cursor-ahead');
  for await (const frame of telling(api, followFrames(open, { signal: io.signal, again, ...pausesOf(io, 'svc audit'), mustOpen: true }))) {
    if (frame.event !== 'audit') continue;
    const record = JSON.parse(frame.data) as AuditRecord;
    await io.out(json ? `${JSON.stringify(record)}\n` : auditLine(record));
  }
  throw new InterruptedError();
}
