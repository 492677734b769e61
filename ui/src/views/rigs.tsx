import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, inCity, newKey, part, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { LoggedEvent, Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { follow, settle } from '../live/operations.js';
import { Button, Confirm, Empty, State } from '../parts/basics.js';
import { Told, useAct } from './admin/act.js';
import { FormDialog, Sure } from './admin/forms.js';
import { Ago, Facts, Frame, Row, Rows, Shown } from './admin/frame.js';
import { useRead } from './admin/read.js';

type Rig = Schemas['RigResponse'];
type Made = Schemas['RigCreateResponseBody'];
interface Step {
  readonly step: string;
  readonly detail: string;
  readonly warn: boolean;
}

/** The repositories that a city works on. */
export function Rigs(): ReactNode {
  const { city } = useParams({ from: '/c/$city/rigs' });
  const { new: adding, edit } = useSearch({ from: '/c/$city/rigs' });
  const navigate = useNavigate({ from: '/c/$city/rigs' });
  /** How far each clone is, by the rig that it becomes. */
  const [clones, setClones] = useState<ReadonlyMap<string, readonly Step[]>>(new Map());
  const told = (event: LoggedEvent): void => {
    if (event.type.startsWith('request.')) settle(event);
    if (event.type === 'rig.provision.progress') {
      const { rig, step, detail = '', warn = false } = event.payload as unknown as Schemas['RigProvisionProgressPayload'];
      setClones((before) => new Map(before).set(rig, [...(before.get(rig) ?? []), { step, detail, warn }].slice(-20)));
    }
  };
  const reading = useRead(
    `rigs ${city}`,
    async (signal) => {
      // Rigs have no tag of their own: the revision is read first, so that it is never newer than they are.
      const { items: revisions } = await get<{ items: Schemas['ConfigRevision'][] }>(inCity(city, 'config/revisions'), {
        query: { limit: 1 },
        signal,
      });
      const { items } = await get<Schemas['ListBodyRigResponse']>(inCity(city, 'rigs'), { query: { git: true, limit: 500 }, signal });
      return { rigs: items, revision: revisions[0]?.revision };
    },
    { city, on: /^rig\.|^config\.reloaded|^request\.result\.rig/, event: told },
  );
  const act = useAct();
  const not = useForbidden(needs.createRig, needs.updateRig, needs.deleteRig);
  const operate = useForbidden(needs.actOnRig);
  const [leaving, setLeaving] = useState<Rig>();
  const [restarting, setRestarting] = useState<Rig>();
  const show = (search: { new?: string; edit?: string }): void => void navigate({ search, replace: true });
  useKeys('Rigs', not === undefined ? [{ keys: 'c', label: 'new rig', run: () => show({ new: '1' }) }] : []);

  const create = async (values: Readonly<Record<string, string>>, key: string): Promise<void> => {
    const body: Record<string, string> = {};
    for (const name of ['name', 'path', 'git_url', 'default_branch', 'prefix']) {
      const value = values[name]?.trim() ?? '';
      if (value !== '') body[name] = value;
    }
    setClones((before) => new Map([...before].filter(([rig]) => rig !== body.name)));
    const made = await post<Made>(inCity(city, 'rigs'), body, { idempotencyKey: key });
    if (made.status === 'accepted' && made.request_id !== undefined)
      void follow(`Clone ${body.name}`, made.request_id).then(() => reading.again());
    else reading.again();
  };
  const switchTo = ({ name }: Rig, action: 'suspend' | 'resume' | 'reset'): void =>
    void act.run(`${action} ${name}`, async () => {
      const path = inCity(city, `rig/${part(name)}/`);
      await post(`${path}${action}`, undefined, { idempotencyKey: newKey() });
      if (action === 'reset') return `The files count for ${name} again`;
      return action === 'suspend'
        ? { text: `No agents are started in ${name}`, undo: () => post(`${path}resume`) }
        : { text: `Agents may be started in ${name}`, undo: () => post(`${path}suspend`) };
    });
  const restart = ({ name }: Rig): void =>
    void act.run(`restart ${name}`, async () => {
      const { killed, failed } = await post<Schemas['RigActionBody']>(inCity(city, `rig/${part(name)}/restart`));
      const late = failed ?? [];
      const ended = killed?.length ?? 0;
      const told = ended === 1 ? '1 process has ended and is started again' : `${ended} processes have ended and are started again`;
      return `${told}${late.length === 0 ? '' : `; not yet: ${late.join(', ')}`}`;
    });
  const edited = reading.data?.rigs.find(({ name }) => name === edit);
  return (
    <Frame
      title="Rigs"
      city={city}
      about="Repositories that the city works on"
      actions={
        <Button look="primary" hotkey="c" not={not} onClick={() => show({ new: '1' })}>
          New rig
        </Button>
      }
    >
      <Told acting={act} />
      {[...clones].map(([rig, steps]) => (
        <Clone
          key={rig}
          rig={rig}
          steps={steps}
          onClose={() => setClones((before) => new Map([...before].filter(([name]) => name !== rig)))}
        />
      ))}
      <Shown of={reading}>
        {({ rigs }) => (
          <>
            {rigs.length === 0 && (
              <Empty title="This city has no rig">
                <p>A rig is a repository in which agents work: a directory that is there, or a clone.</p>
                <Button look="primary" not={not} onClick={() => show({ new: '1' })}>
                  Add the first one
                </Button>
              </Empty>
            )}
            <Rows label="Rigs">
              {rigs.map((rig) => (
                <Row key={rig.name} name={rig.name}>
                  <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
                    <div className="min-w-0 flex-1 basis-52">
                      <h2 className="words font-semibold">{visible(rig.name)}</h2>
                      <p className="truncate text-xs text-muted" title={rig.path}>
                        {visible(rig.path)}
                      </p>
                    </div>
                    <State tone={rig.suspended ? 'warn' : 'good'}>{rig.suspended ? 'suspended' : 'agents may run'}</State>
                    <div className="flex flex-wrap gap-1.5">
                      <Button not={operate} onClick={() => switchTo(rig, rig.suspended ? 'resume' : 'suspend')}>
                        {rig.suspended ? 'Resume' : 'Suspend'}
                      </Button>
                      {rig.suspended_runtime !== null && (
                        <Button not={operate} title="Lets the files count again" onClick={() => switchTo(rig, 'reset')}>
                          As the files say
                        </Button>
                      )}
                      <Button not={operate} onClick={() => setRestarting(rig)}>
                        Restart
                      </Button>
                      <Button data-open not={not} onClick={() => show({ edit: rig.name })}>
                        Edit
                      </Button>
                      <Button look="bad" not={not} onClick={() => setLeaving(rig)}>
                        Remove
                      </Button>
                    </div>
                  </div>
                  <Facts
                    facts={[
                      ['Beads begin with', rig.prefix === undefined ? undefined : `${visible(rig.prefix)}-`],
                      ['Branch', rig.default_branch === undefined ? undefined : visible(rig.default_branch)],
                      ['Working tree', rig.git === undefined ? undefined : <Tree git={rig.git} />],
                      ['Agents', `${rig.agent_count}, ${rig.running_count} at work`],
                      ['Last activity', rig.last_activity === undefined ? undefined : <Ago at={rig.last_activity} />],
                    ]}
                  />
                </Row>
              ))}
            </Rows>
          </>
        )}
      </Shown>
      {adding !== undefined && (
        <FormDialog
          title="New rig"
          action="Add the rig"
          not={not}
          inputs={[
            { name: 'name', label: 'Name', required: true },
            { name: 'git_url', label: 'Clone', placeholder: 'https://host/owner/repository', hint: 'Without it, the rig is a directory.' },
            { name: 'path', label: 'Directory', placeholder: 'rigs/<name>' },
            { name: 'default_branch', label: 'Branch', hint: 'That work begins from and ends in.' },
            { name: 'prefix', label: 'Prefix of its beads', hint: 'Derived from the name unless given.' },
          ]}
          onClose={() => show({})}
          onSave={create}
        />
      )}
      {edited !== undefined && (
        <FormDialog
          key={edited.name}
          title={`Edit ${edited.name}`}
          action="Save"
          not={not}
          start={{
            path: edited.path,
            default_branch: edited.default_branch ?? '',
            prefix: edited.prefix ?? '',
            suspended: String(edited.suspended_declared),
          }}
          revision={reading.data?.revision}
          inputs={[
            { name: 'path', label: 'Directory', required: true },
            { name: 'default_branch', label: 'Branch' },
            { name: 'prefix', label: 'Prefix of its beads' },
            { name: 'suspended', label: 'Suspended', kind: 'flag', hint: 'In the files: nothing is started in it.' },
          ]}
          onClose={() => show({})}
          onSave={async (values, _key, { start, ifMatch }) => {
            const body: Record<string, unknown> = {};
            for (const name of ['path', 'default_branch', 'prefix']) if (values[name] !== start[name]) body[name] = values[name];
            if ((values.suspended === 'true') !== (start.suspended === 'true')) body.suspended = values.suspended === 'true';
            if (Object.keys(body).length === 0) return;
            await request('PATCH', inCity(city, `rig/${part(edited.name)}`), { body, ifMatch });
            reading.again();
          }}
        />
      )}
      {restarting !== undefined && (
        <Confirm
          title={`Restart ${restarting.name}?`}
          action={`Restart ${restarting.name}`}
          onYes={() => restart(restarting)}
          onClose={() => setRestarting(undefined)}
        >
          The processes of the sessions of its agents are ended, and started again. What they are in the middle of is lost.
        </Confirm>
      )}
      {leaving !== undefined && (
        <Sure
          title={`Remove ${leaving.name}?`}
          word={leaving.name}
          action="Remove the rig"
          onClose={() => setLeaving(undefined)}
          onYes={() =>
            void act.run(`remove ${leaving.name}`, async () => {
              await request('DELETE', inCity(city, `rig/${part(leaving.name)}`), {
                query: { cascade: true },
                ifMatch: reading.data?.revision,
              });
              reading.again();
              return `${leaving.name} is no rig of the city any more; its directory stays`;
            })
          }
        >
          The city forgets it, with {leaving.agent_count === 1 ? 'the agent' : `the ${leaving.agent_count} agents`} and patches that are its
          own. Its directory and its beads stay.
        </Sure>
      )}
    </Frame>
  );
}

function Tree({ git: { branch, clean, changed_files, ahead, behind } }: { git: Schemas['GitStatus'] }): ReactNode {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3">
      <code className="text-xs">{visible(branch)}</code>
      <State tone={clean ? 'good' : 'warn'}>{clean ? 'clean' : `${changed_files} changed`}</State>
      {ahead > 0 && <span>{ahead} ahead</span>}
      {behind > 0 && <span>{behind} behind</span>}
    </span>
  );
}

/** What a clone does, as its events tell it. */
function Clone({ rig, steps, onClose }: { rig: string; steps: readonly Step[]; onClose: () => void }): ReactNode {
  return (
    <section aria-label={`Clone of ${rig}`} className="rounded-xl border border-line bg-panel px-4 py-3">
      <div className="flex items-center gap-3">
        <h2 className="text-sm font-semibold">Clone of {visible(rig)}</h2>
        <Button className="ml-auto" look="quiet" onClick={onClose}>
          Dismiss
        </Button>
      </div>
      <ol aria-live="polite" className="mt-1 flex flex-col gap-0.5 text-sm">
        {steps.map(({ step, detail, warn }, i) => (
          <li key={i} className="flex flex-wrap gap-x-3">
            <State tone={warn ? 'warn' : i === steps.length - 1 ? 'accent' : 'good'}>{visible(step.replaceAll('_', ' '))}</State>
            <span className="words text-muted">{visible(detail)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
