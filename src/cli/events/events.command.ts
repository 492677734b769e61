import { Option, type Command } from 'commander';
import { collect, contextOf, flagsOf, withCity, withExamples, withTarget } from '../command.js';
import type { Io } from '../io.js';
import { feedOf } from './feed.js';
import { addHistogram } from './histogram.command.js';
import { listEvents } from './list.js';
import { checkScope, readFlags, type EventsFlags } from './options.js';
import { addRotate } from './rotate.command.js';
import { tellSlip } from './slip.js';
import { followEvents, watchEvents } from './stream.js';

export function addEvents(program: Command, io: Io): void {
  const events = program
    .command('events')
    .description('list events, wait for one, follow them for ever, or print the current position')
    .option('--type <type>', 'only events of exactly this type')
    .option('--since <duration>', 'only events of the last 30s, 5m, 1h30m …; with --follow these first')
    .option('--payload-match <path=value>', 'only events whose payload has this value there; repeatable, dotted paths descend', collect)
    .option('--after <seq>', 'only events behind this sequence number (one city)')
    .option('--after-cursor <cursor>', 'only events behind this cursor (supervisor)')
    .option('--watch', 'wait for the first match, print it and stop')
    .option('--timeout <duration>', 'how long --watch waits', '30s')
    .option('--fail-on-timeout', 'end with code 124 when --watch has found nothing in time; otherwise that is a success')
    .option('--follow', 'print matches until interrupted')
    .option('--seq', 'print the current position: a number for a city, a cursor for the supervisor')
    .addOption(new Option('--json', 'accepted for old scripts: the output is always JSON Lines').hideHelp());
  withCity(withTarget(events));
  withExamples(
    events,
    'svc events --city alpha --since 5m',
    'svc events --no-city --follow --type city.created',
    'svc events --city alpha --follow --since 10m',
    'svc events --city alpha --watch --type bead.closed --payload-match bead.id=al-42 --timeout 2m --fail-on-timeout',
    'cursor=$(svc events --no-city --seq); …; svc events --after-cursor "$cursor"',
  );
  events.action(async (_options, command: Command) => {
    const flags = flagsOf<EventsFlags>(command);
    const request = readFlags(flags, Date.now());
    const context = contextOf(command, io);
    const scope = await context.scope();
    checkScope(flags, scope);
    const feed = feedOf(scope, context.api);
    const { type } = request.filter;
    if (request.mode === 'follow' || request.mode === 'watch') tellSlip('svc events', type, io);
    switch (request.mode) {
      case 'seq':
        return io.out(`${await feed.head()}\n`);
      case 'follow':
        return followEvents(feed, request, context.api, io);
      case 'watch':
        return watchEvents(feed, request, io);
      case 'list':
        if ((await listEvents(feed, request, io)).size === 0) tellSlip('svc events', type, io);
        return;
    }
  });
  addHistogram(events, io);
  addRotate(events, io);
}
