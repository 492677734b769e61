import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { moment } from '../duration.js';
import { CliError } from '../errors.js';
import { hinted, whoOf } from '../identity.js';
import type { Io } from '../io.js';
import { defined, durationText, numberOf } from '../values.js';
import { told } from './states.command.js';

interface ClaimFlags {
  readonly assignee?: string;
  readonly lease?: string;
  readonly force?: boolean;
  readonly sessionId?: string;
  readonly sessionName?: string;
  readonly workBranch?: string;
  readonly fence?: string;
  readonly reason?: string;
  readonly json?: boolean;
}

const claimed = (bead: Command, name: string, about: string): Command =>
  cityCommand(bead, name, about)
    .argument('<id>', 'the bead')
    .option('--assignee <who>', 'the agent or session that works on it (SVC_AGENT)')
    .option('--json', 'print the answer as one JSON line');

export function addClaims(bead: Command, io: Io): void {
  addClaim(bead, io);
  addRelease(bead, io);
  addHeartbeat(bead, io);
}

function addClaim(bead: Command, io: Io): void {
  const claim = claimed(bead, 'claim', 'take a bead for yourself; only one of many gets it')
    .option('--lease <duration>', 'how long it is yours without a heartbeat (default 10m)')
    .option('--force', 'also when it is blocked or deferred')
    .option('--session-id <id>', 'the session that works on it (SVC_SESSION_ID)')
    .option('--session-name <name>', 'name of that session')
    .option('--work-branch <branch>', 'the branch that the work goes to');
  withExamples(claim, 'svc bead claim al-12 --assignee worker', 'svc bead claim al-12 --assignee worker --lease 30m --json');
  claim.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<ClaimFlags>(action, io);
    const params = { path: { cityName: city, id } };
    const assignee = whoOf('--assignee', flags.assignee, io);
    const body = defined({
      assignee,
      lease: flags.lease === undefined ? undefined : durationText('--lease', flags.lease),
      force: flags.force,
      session_id: flags.sessionId ?? (io.env.SVC_SESSION_ID || undefined),
      session_name: flags.sessionName,
      work_branch: flags.workBranch,
    });
    const { data } = await ask(api, (signal) =>
      api.http.POST('/v0/city/{cityName}/bead/{id}/claim', { params, body: { ...body, assignee }, signal }),
    ).catch(hinted(409, `see \`svc bead show ${id}\`, or take other work with \`svc hook claim --agent ${assignee}\``));
    if (flags.json === true) return printJson(io, data);
    const how = data.claimed ? 'is claimed by' : 'was already claimed by';
    return io.out(`${id} ${how} ${data.bead.assignee ?? assignee} until ${moment(data.lease_until)} (fence ${data.fence})\n`);
  });
}

function addRelease(bead: Command, io: Io): void {
  const release = claimed(bead, 'release', 'give a claimed bead back')
    .option('--fence <n>', 'only when the claim is still this one')
    .option('--reason <text>', 'why');
  withExamples(
    release,
    'svc bead release al-12 --assignee worker',
    'svc bead release al-12 --assignee worker --fence 3 --reason "needs a human"',
  );
  release.action(async (id: string, _options, action: Command) => {
    const context = await cityContextOf<ClaimFlags>(action, io);
    const { api, city, flags } = context;
    const params = { path: { cityName: city, id } };
    const body = {
      assignee: whoOf('--assignee', flags.assignee, io),
      ...defined({ fence: flags.fence === undefined ? undefined : numberOf('--fence', flags.fence), reason: flags.reason }),
    };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/bead/{id}/release', { params, body, signal })).catch(
      hinted(409, `see \`svc bead show ${id}\``),
    );
    await told(context, id, data, 'is released');
  });
}

function addHeartbeat(bead: Command, io: Io): void {
  const heartbeat = claimed(bead, 'heartbeat', 'keep a claimed bead for another lease').requiredOption(
    '--fence <n>',
    'the fence that the claim answered',
  );
  withExamples(heartbeat, 'svc bead heartbeat al-12 --assignee worker --fence 3');
  heartbeat.action(async (id: string, _options, action: Command) => {
    const context = await cityContextOf<ClaimFlags>(action, io);
    const { api, city, flags } = context;
    if (flags.fence === undefined) throw new CliError('--fence is missing');
    const params = { path: { cityName: city, id } };
    const body = { assignee: whoOf('--assignee', flags.assignee, io), fence: numberOf('--fence', flags.fence) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/bead/{id}/heartbeat', { params, body, signal })).catch(
      hinted(409, `the claim is lost: stop the work and see \`svc bead show ${id}\``),
    );
    await told(context, id, data, `is yours until ${moment(data.lease_until)}`);
  });
}
