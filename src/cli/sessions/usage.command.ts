import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { showDuration } from '../duration.js';
import { nameOf } from '../edits.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { totalsTable, usersTable } from './view.js';

export function addUsage(program: Command, io: Io): void {
  const usage = cityCommand(program, 'usage', 'show what a city or a session has used: tokens and what they cost')
    .argument('[session]', 'only of this session: an id, a name or an alias')
    .option('--json', 'print the answer as one JSON line');
  withExamples(usage, 'svc usage', 'svc usage al-7', 'svc usage --json');
  usage.action(async (name: string | undefined, _options, action: Command) => {
    const { api, city, flags, path } = await cityContextOf<{ json?: boolean }>(action, io);
    if (name !== undefined) {
      const params = { path: { cityName: city, id: nameOf('a session', name) } };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}/usage', { params, signal }));
      const spans = [
        ['last 24 h', data.last_24h],
        ['in all', data.total],
      ] as const;
      return flags.json === true ? printJson(io, data) : io.out(totalsTable(spans, io));
    }
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/usage', { params, signal }));
    if (flags.json === true) return printJson(io, data);
    for (const why of data.partial_reasons ?? []) io.err(`${path}: not all is counted: ${plain(why)}\n`);
    const recent = `last ${showDuration(data.recent_window_secs * 1_000)}`;
    await io.out(
      totalsTable(
        [
          [recent, data.recent],
          ['today', data.today],
          ['last 24 h', data.last_24h],
        ],
        io,
      ),
    );
    const agents = (data.by_agent ?? []).map((of) => [of.agent, of] as const);
    if (agents.length > 0) await io.out(`\n${usersTable('AGENT, LAST 24 H', agents, io)}`);
    const sessions = (data.recent_by_session ?? []).map((of) => [of.session_id ?? of.session, of] as const);
    if (sessions.length > 0) await io.out(`\n${usersTable(`SESSION, ${recent.toUpperCase()}`, sessions, io)}`);
  });
}
