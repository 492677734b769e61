import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';
import { facts } from '../table.js';
import { wholeBatch } from './many.js';
import { resultTable } from './results.js';

interface Flags {
  readonly only?: 'slung' | 'refused' | 'skipped';
  readonly json?: boolean;
}

const GONE = 'it is there for a week after its end; see `svc events --type request.result.sling.batch`';

export function addBatch(program: Command, io: Io): void {
  const batch = program.command('batch').description('batches of more than 200 slings, which go on in the background');
  addShow(batch, io);
  addCancel(batch, io);
}

function addShow(batch: Command, io: Io): void {
  const show = cityCommand(batch, 'show', 'how far a batch has come, and what became of its beads')
    .argument('<request>', 'its request id')
    .addOption(new Option('--only <status>', 'only beads with this result').choices(['slung', 'refused', 'skipped']))
    .option('--json', 'print it as one JSON line');
  withExamples(show, 'svc batch show req_0f2c', 'svc batch show req_0f2c --only refused');
  show.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const found = await wholeBatch(api, city, id, flags.only).catch(hinted(404, GONE));
    if (flags.json === true) return printJson(io, found);
    const { status, target, done, total, slung, refused, skipped, error_message: error } = found;
    const left = skipped === 0 ? '' : `, ${skipped} skipped`;
    await io.out(
      facts([
        ['status', error === undefined ? status : `${status}: ${error}`],
        ['target', target],
        ['done', `${done} of ${total}: ${slung} slung, ${refused} refused${left}`],
      ]),
    );
    if (found.results.length > 0) await io.out(`\n${resultTable(found.results, io)}`);
  });
}

function addCancel(batch: Command, io: Io): void {
  const cancel = cityCommand(batch, 'cancel', 'sling no more of a batch; what was slung stays so')
    .argument('<request>', 'its request id')
    .option('--json', 'print the answer as one JSON line');
  withExamples(cancel, 'svc batch cancel req_0f2c');
  cancel.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, request_id: id } };
    const { data } = await ask(api, (signal) =>
      api.http.POST('/v0/city/{cityName}/sling/batch/{request_id}/cancel', { params, signal }),
    ).catch(hinted(404, GONE));
    if (flags.json === true) return printJson(io, data);
    return io.out(`no more of batch ${id} is slung; done so far: ${data.done}\n`);
  });
}
