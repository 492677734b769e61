import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, inCity, part, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { Button, Confirm, Empty } from '../parts/basics.js';
import { Told, useAct } from './admin/act.js';
import { FormDialog } from './admin/forms.js';
import { Facts, Frame, Row, Rows, Shown } from './admin/frame.js';
import { useRead } from './admin/read.js';

type Pack = Schemas['PackResponse'];

/** What a city imports: each with the commit that it is pinned to. */
export function Packs(): ReactNode {
  const { city } = useParams({ from: '/c/$city/packs' });
  const { new: adding, q = '' } = useSearch({ from: '/c/$city/packs' });
  const navigate = useNavigate({ from: '/c/$city/packs' });
  const reading = useRead(
    `packs ${city}`,
    async (signal) => (await get<Schemas['PackListBody']>(inCity(city, 'packs'), { signal })).packs ?? [],
    {
      city,
      on: /^pack\.|^config\.reloaded/,
    },
  );
  const act = useAct();
  const not = useForbidden(needs.addPack, needs.installPacks);
  const configure = useForbidden(needs.removePack);
  const [leaving, setLeaving] = useState<Pack>();
  const add = (on: boolean): void => void navigate({ search: ({ new: _, ...rest }) => (on ? { ...rest, new: '1' } : rest), replace: true });
  const put = (body: Schemas['PackAddInputBody'], key?: string): Promise<unknown> =>
    post(inCity(city, 'packs'), body, key === undefined ? {} : { idempotencyKey: key });
  const remove = ({ name, source = '', version }: Pack): void =>
    void act.run(`remove ${name}`, async () => {
      await request('DELETE', inCity(city, `packs/${part(name)}`), {});
      return {
        text: `${name} is imported no longer`,
        // To take it out is to configure; to bring it back says what is run.
        ...(not === undefined ? { undo: () => put({ name, source, ...(version === undefined ? {} : { version }) }) } : {}),
      };
    });
  const install = (): void =>
    void act.run('install', async () => {
      const { changed, pins } = await post<Schemas['PackInstallBody']>(inCity(city, 'packs/install'));
      return changed ? `${counted(pins.length, 'pin is', 'pins are')} written anew` : 'Everything is there as it is pinned';
    });
  useKeys(
    'Packs',
    not !== undefined
      ? []
      : [
          { keys: 'c', label: 'import a pack', run: () => add(true) },
          { keys: 'i', label: 'fetch what the files import', run: install },
        ],
  );
  return (
    <Frame
      title="Packs"
      city={city}
      about="Agents, formulas and orders that others have written"
      actions={
        <>
          <Button hotkey="i" not={not} disabled={act.busy !== undefined} onClick={install}>
            {act.busy === 'install' ? 'Fetching …' : 'Fetch imports'}
          </Button>
          <Button look="primary" hotkey="c" not={not} onClick={() => add(true)}>
            Import a pack
          </Button>
        </>
      }
    >
      <Told acting={act} />
      <Shown of={reading}>
        {(packs) => {
          const rows = packs.filter(({ name, source = '' }) => `${name} ${source}`.toLowerCase().includes(q.toLowerCase()));
          return (
            <>
              {packs.length > 6 && (
                <input
                  data-filter
                  aria-label="Filter packs"
                  placeholder="Filter"
                  value={q}
                  onChange={(event) =>
                    void navigate({
                      search: ({ q: _, ...rest }) => (event.target.value === '' ? rest : { ...rest, q: event.target.value }),
                      replace: true,
                    })
                  }
                  className="field max-w-60"
                />
              )}
              {packs.length === 0 && (
                <Empty title="This city imports no pack">
                  <p>A pack brings agents, formulas and orders. It is a directory, or a repository that is pinned to a commit.</p>
                  <Button look="primary" not={not} onClick={() => add(true)}>
                    Import the first one
                  </Button>
                </Empty>
              )}
              {packs.length > 0 && rows.length === 0 && <Empty title={`0 of ${packs.length}`} />}
              <Rows label="Packs">
                {rows.map((pack) => (
                  <Row key={pack.name} name={pack.name}>
                    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
                      <h2 className="words font-semibold">{visible(pack.name)}</h2>
                      {pack.pack !== undefined && pack.pack !== pack.name && (
                        <span className="text-sm text-muted">calls itself {visible(pack.pack)}</span>
                      )}
                      <Button className="ml-auto" look="bad" not={configure} onClick={() => setLeaving(pack)}>
                        Remove
                      </Button>
                    </div>
                    {pack.description !== undefined && <p className="words text-sm">{visible(pack.description)}</p>}
                    <Facts
                      facts={[
                        ['From', pack.source === undefined ? undefined : visible(pack.source)],
                        ['Wanted', pack.version === undefined ? undefined : visible(pack.version)],
                        ['Tag', pack.resolved_version === undefined ? undefined : visible(pack.resolved_version)],
                        ['Commit', pack.commit === undefined ? undefined : <code className="text-xs">{pack.commit}</code>],
                        ['Its own version', pack.pack_version === undefined ? undefined : visible(pack.pack_version)],
                      ]}
                    />
                  </Row>
                ))}
              </Rows>
            </>
          );
        }}
      </Shown>
      {adding !== undefined && (
        <FormDialog
          title="Import a pack"
          action="Import it"
          not={not}
          inputs={[
            {
              name: 'source',
              label: 'From',
              required: true,
              placeholder: 'https://host/owner/repository',
              hint: 'The address of a repository. A directory of the city is imported by its pack.toml.',
            },
            { name: 'version', label: 'Version', placeholder: '^1.2, or a tag', hint: 'Of a repository. Without it, the newest.' },
            { name: 'name', label: 'Name', hint: 'As it is called here. Without it, its own.' },
          ]}
          onClose={() => add(false)}
          onSave={async ({ source = '', version = '', name = '' }, key) => {
            await put(
              {
                source: source.trim(),
                ...(version.trim() === '' ? {} : { version: version.trim() }),
                ...(name.trim() === '' ? {} : { name: name.trim() }),
              },
              key,
            );
          }}
        />
      )}
      {leaving !== undefined && (
        <Confirm
          title={`Remove ${leaving.name}?`}
          action={`Remove ${leaving.name}`}
          onYes={() => remove(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          What it brings is gone from the city: agents, formulas and orders. What is at work goes on to its end.
        </Confirm>
      )}
    </Frame>
  );
}
