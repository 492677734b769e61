import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { getStamped, inCity, part, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { Button, Empty } from '../parts/basics.js';
import { Told, useAct } from './admin/act.js';
import { asLines, asPairs, FormDialog, linesOf, pairsOf, type Input, type Values } from './admin/forms.js';
import { Facts, Frame, Row, Rows, Shown, Tabs } from './admin/frame.js';
import { useRead } from './admin/read.js';

/** A patch of any kind, as it is stored: members that say nothing are null. */
type Stored = Readonly<Record<string, unknown>> & { readonly Name: string; readonly Dir?: string };
type Kind = 'agents' | 'providers' | 'rigs';

interface Shape {
  readonly one: string;
  readonly about: string;
  /** What a request says, and under which name that is stored. */
  readonly members: readonly (Input & { readonly stored: string; readonly is: 'text' | 'lines' | 'pairs' | 'flag' | 'number' })[];
}
const YES_NO = [
  ['', 'says nothing'],
  ['true', 'yes'],
  ['false', 'no'],
] as const;

const SHAPES: Readonly<Record<Kind, Shape>> = {
  agents: {
    one: 'agent',
    about: 'An agent that a pack brings, as this city wants it.',
    members: [
      { name: 'provider', label: 'Provider', stored: 'Provider', is: 'text' },
      { name: 'scope', label: 'Scope', stored: 'Scope', is: 'text', placeholder: 'city or rig' },
      { name: 'work_dir', label: 'Working directory', stored: 'WorkDir', is: 'text' },
      { name: 'tmux_alias', label: 'Name of its terminal', stored: 'TmuxAlias', is: 'text' },
      { name: 'env', label: 'Variables, one a line', kind: 'pairs', stored: 'Env', is: 'pairs' },
      { name: 'suspended', label: 'Suspended', choices: YES_NO, stored: 'Suspended', is: 'flag' },
    ],
  },
  providers: {
    one: 'provider',
    about: 'A provider that is built in, or comes with a pack, as this city wants it.',
    members: [
      { name: 'command', label: 'Program', stored: 'Command', is: 'text' },
      { name: 'args', label: 'Arguments, one a line', kind: 'lines', stored: 'Args', is: 'lines' },
      { name: 'acp_command', label: 'Program for the Agent Client Protocol', stored: 'ACPCommand', is: 'text' },
      { name: 'acp_args', label: 'Its arguments, one a line', kind: 'lines', stored: 'ACPArgs', is: 'lines' },
      { name: 'env', label: 'Variables, one a line', kind: 'pairs', stored: 'Env', is: 'pairs' },
      { name: 'prompt_mode', label: 'How the prompt reaches it', stored: 'PromptMode', is: 'text', placeholder: 'arg, flag or none' },
      { name: 'prompt_flag', label: 'That flag', stored: 'PromptFlag', is: 'text' },
      { name: 'ready_delay_ms', label: 'Milliseconds until it is ready', kind: 'number', stored: 'ReadyDelayMs', is: 'number' },
      { name: 'accept_startup_dialogs', label: 'Accepts its first dialogs', choices: YES_NO, stored: 'AcceptStartupDialogs', is: 'flag' },
    ],
  },
  rigs: {
    one: 'rig',
    about: 'A rig, as this city wants it.',
    members: [
      { name: 'path', label: 'Directory', stored: 'Path', is: 'text' },
      { name: 'default_branch', label: 'Branch', stored: 'DefaultBranch', is: 'text' },
      { name: 'prefix', label: 'Prefix of its beads', stored: 'Prefix', is: 'text' },
      { name: 'suspended', label: 'Suspended', choices: YES_NO, stored: 'Suspended', is: 'flag' },
    ],
  },
};
const KINDS = Object.keys(SHAPES) as Kind[];

const idOf = ({ Dir = '', Name }: Stored): string => (Dir === '' ? Name : `${Dir}/${Name}`);
const pathOf = (kind: Kind, { Dir = '', Name }: Stored): string =>
  `patches/${SHAPES[kind].one}/${Dir === '' ? '' : `${part(Dir)}/`}${part(Name)}`;

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0);

function startOf(kind: Kind, patch: Stored): Values {
  const values: Record<string, string> = { name: patch.Name, dir: patch.Dir ?? '' };
  for (const { name, stored, is } of SHAPES[kind].members) {
    const value = patch[stored];
    if (isEmpty(value)) continue;
    values[name] =
      is === 'lines' ? asLines(value as string[]) : is === 'pairs' ? asPairs(value as Record<string, string>) : String(value as string);
  }
  return values;
}

function bodyOf(kind: Kind, values: Values): Record<string, unknown> {
  const body: Record<string, unknown> = { name: values.name?.trim() };
  if (kind === 'agents' && (values.dir ?? '').trim() !== '') body.dir = values.dir!.trim();
  for (const { name, is } of SHAPES[kind].members) {
    const value = values[name] ?? '';
    if (value.trim() === '') continue;
    body[name] =
      is === 'lines'
        ? linesOf(value)
        : is === 'pairs'
          ? pairsOf(value)
          : is === 'flag'
            ? value === 'true'
            : is === 'number'
              ? Number(value)
              : value.trim();
  }
  return body;
}

/** What a city changes of what packs and the service bring. */
export function Patches(): ReactNode {
  const { city } = useParams({ from: '/c/$city/patches' });
  const { kind: asked, new: adding, edit } = useSearch({ from: '/c/$city/patches' });
  const kind = KINDS.find((one) => one === asked) ?? 'agents';
  const navigate = useNavigate({ from: '/c/$city/patches' });
  const reading = useRead(
    `patches ${city}`,
    async (signal) => {
      const read = await Promise.all(
        KINDS.map((one) => getStamped<{ items: Stored[] }>(inCity(city, `patches/${one}`), { query: { limit: 500 }, signal })),
      );
      return {
        patches: Object.fromEntries(KINDS.map((one, i) => [one, read[i]!.body.items])) as Record<Kind, Stored[]>,
        // What changes between these reads is in some of them only.
        revisions: Object.fromEntries(KINDS.map((one, i) => [one, read[i]!.revision])) as Record<Kind, number | undefined>,
      };
    },
    { city, on: /^patch\.|^config\.reloaded/ },
  );
  const act = useAct();
  const right = useForbidden(needs.setAgentPatch, needs.setRigPatch);
  const provider = useForbidden(needs.setProviderPatch);
  const notRemove = useForbidden(needs.deleteAgentPatch, needs.deleteRigAgentPatch, needs.deleteRigPatch, needs.deleteProviderPatch);
  const commands = useForbidden(needs.setAgentPatchWithEnv);
  const not = kind === 'providers' ? provider : right;
  // A change says the whole patch anew, and the variables that it has are part of what is run.
  const notEdit = (patch: Stored): string | undefined => not ?? (isEmpty(patch.Env) ? undefined : commands);
  const [, force] = useState(0);
  const show = (search: { new?: string; edit?: string }): void =>
    void navigate({ search: { ...(kind === 'agents' ? {} : { kind }), ...search }, replace: true });
  useKeys('Patches', not === undefined ? [{ keys: 'c', label: 'new patch', run: () => show({ new: '1' }) }] : []);
  const put = (body: unknown, ifMatch?: number): Promise<Schemas['PatchOKResponseBody']> =>
    request('PUT', inCity(city, `patches/${kind}`), { body, ifMatch });
  const remove = (patch: Stored): void =>
    void act.run(`remove ${kind} ${idOf(patch)}`, async () => {
      await request('DELETE', inCity(city, pathOf(kind, patch)), { ifMatch: reading.data?.revisions[kind] });
      reading.again();
      const kept = bodyOf(kind, startOf(kind, patch));
      return {
        text: `${idOf(patch)} is as it comes again`,
        // The page knows variables masked only, and what that means is gone with the patch.
        ...(not === undefined && isEmpty(patch.Env)
          ? {
              undo: async () => {
                await put(kept);
                force((n) => n + 1);
              },
            }
          : {}),
      };
    });
  const shape = SHAPES[kind];
  const edited = reading.data?.patches[kind].find((patch) => idOf(patch) === edit);
  const inputs: Input[] = [
    ...(kind === 'agents'
      ? [{ name: 'dir', label: 'Rig of the agent', hint: 'Empty: an agent of the city itself.', fixed: edited !== undefined }]
      : []),
    { name: 'name', label: 'Name', required: true, fixed: edited !== undefined },
    // Variables of processes are part of what is run.
    ...shape.members.map((one) => (one.name === 'env' && commands !== undefined ? { ...one, fixed: true, hint: commands } : one)),
  ];
  return (
    <Frame
      title="Patches"
      city={city}
      about="What this city changes of what packs and the service bring"
      actions={
        <Button look="primary" hotkey="c" not={not} onClick={() => show({ new: '1' })}>
          New patch
        </Button>
      }
      tabs={
        <Tabs
          now={kind}
          tabs={KINDS.map((one) => ({ name: one, label: one[0]!.toUpperCase() + one.slice(1), count: reading.data?.patches[one].length }))}
          link={(one) => ({ to: '/c/$city/patches', params: { city }, search: one === 'agents' ? {} : { kind: one } })}
        />
      }
    >
      <Told acting={act} />
      <Shown of={reading}>
        {({ patches }) => (
          <>
            {patches[kind].length === 0 && (
              <Empty title={`No patch of ${shape.one === 'agent' ? 'an agent' : `a ${shape.one}`}`}>
                <p>{shape.about}</p>
                <Button look="primary" not={not} onClick={() => show({ new: '1' })}>
                  Write one
                </Button>
              </Empty>
            )}
            <Rows label={`Patches of ${kind}`}>
              {patches[kind].map((patch) => (
                <Row key={idOf(patch)} name={idOf(patch)}>
                  <div className="flex flex-wrap items-center gap-2">
                    <h2 className="words font-semibold">{visible(idOf(patch))}</h2>
                    <div className="ml-auto flex gap-1.5">
                      <Button data-open not={notEdit(patch)} onClick={() => show({ edit: idOf(patch) })}>
                        Edit
                      </Button>
                      <Button look="bad" not={notRemove} onClick={() => remove(patch)}>
                        Remove
                      </Button>
                    </div>
                  </div>
                  <Facts
                    facts={Object.entries(patch)
                      .filter(([name, value]) => name !== 'Name' && name !== 'Dir' && !isEmpty(value))
                      .map(([name, value]) => [
                        name,
                        <code key={name} className="text-xs">
                          {visible(typeof value === 'string' ? value : JSON.stringify(value))}
                        </code>,
                      ])}
                  />
                </Row>
              ))}
            </Rows>
          </>
        )}
      </Shown>
      {reading.data !== undefined && (adding !== undefined || edited !== undefined) && (
        <FormDialog
          key={`${kind} ${edit ?? ''}`}
          title={
            edited === undefined
              ? `New patch of ${shape.one === 'agent' ? 'an agent' : `a ${shape.one}`}`
              : `Edit the patch of ${idOf(edited)}`
          }
          action="Store the patch"
          not={edited === undefined ? not : notEdit(edited)}
          inputs={inputs}
          start={edited === undefined ? {} : startOf(kind, edited)}
          revision={reading.data.revisions[kind]}
          onClose={() => show({})}
          onSave={async (values, _key, { ifMatch }) => {
            await put(bodyOf(kind, values), ifMatch);
            reading.again();
          }}
        />
      )}
    </Frame>
  );
}
