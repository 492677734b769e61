import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, inCity, newKey, part, post } from '../api/client.js';
import { useForbidden, useSigning } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { Button, Confirm, Empty, State, type Tone } from '../parts/basics.js';
import { Told, useAct } from './admin/act.js';
import { Ago, Facts, Frame, Row, Rows, Shown } from './admin/frame.js';
import { useRead } from './admin/read.js';
import { Log } from './services/log.js';
import { openingOf } from './services/opening.js';

type Service = Schemas['Status'];
const TONES: Readonly<Record<string, Tone>> = { ready: 'good', starting: 'accent', stopping: 'accent', degraded: 'bad', stopped: 'quiet' };
const EVERY_MS = 10_000;

/** Programs that a city serves: how each is, and what it writes. */
export function Services(): ReactNode {
  const { city } = useParams({ from: '/c/$city/services' });
  const { log } = useSearch({ from: '/c/$city/services' });
  const navigate = useNavigate({ from: '/c/$city/services' });
  const reading = useRead(
    `services ${city}`,
    async (signal) => (await get<Schemas['ListBodyStatus']>(inCity(city, 'services'), { signal })).items ?? [],
    { city, on: /^service\.|^config\.reloaded/, everyMs: EVERY_MS },
  );
  const act = useAct();
  const not = useForbidden(needs.restartService);
  const [restarting, setRestarting] = useState<string>();
  const [opening, setOpening] = useState<Service>();
  const show = (name: string | undefined): void => void navigate({ search: name === undefined ? {} : { log: name } });
  useKeys('Services', [{ keys: 'Escape', label: 'close the log', run: () => show(undefined) }]);
  return (
    <Frame title="Services" city={city} about="Programs that the city serves">
      <Told acting={act} />
      <Shown of={reading}>
        {(services) => (
          <>
            {services.length === 0 && (
              <Empty title="This city serves no program">
                <p>
                  A service is a program of the city that answers HTTP: <code>[[service]]</code> in its files.
                </p>
              </Empty>
            )}
            <Rows label="Services">
              {services.map((service) => (
                <Row key={service.service_name} name={service.service_name}>
                  <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
                    <h2 className="words min-w-0 flex-1 basis-40 font-semibold">{visible(service.service_name)}</h2>
                    <State tone={TONES[service.state ?? ''] ?? 'quiet'}>{service.state ?? service.local_state}</State>
                    <div className="flex flex-wrap gap-1.5">
                      <Open city={city} service={service} onAsk={() => setOpening(service)} />
                      <Button
                        data-open
                        aria-expanded={log === service.service_name}
                        onClick={() => show(log === service.service_name ? undefined : service.service_name)}
                      >
                        Log
                      </Button>
                      {service.kind !== 'workflow' && (
                        <Button not={not} onClick={() => setRestarting(service.service_name)}>
                          Restart
                        </Button>
                      )}
                    </div>
                  </div>
                  {(service.reason ?? '') !== '' && (
                    <p className="words text-sm text-bad">
                      {visible(service.reason ?? '')}
                      {service.detail === undefined ? '' : `: ${visible(service.detail)}`}
                    </p>
                  )}
                  <Facts facts={factsOf(service)} />
                  {log === service.service_name && <Log city={city} service={service.service_name} />}
                </Row>
              ))}
            </Rows>
          </>
        )}
      </Shown>
      {opening !== undefined && (
        <Confirm
          title={`Open ${opening.service_name}?`}
          action={`Open ${opening.service_name}`}
          onClose={() => setOpening(undefined)}
          onYes={() => void window.open(addressOf(city, opening), '_blank', 'noopener,noreferrer')}
        >
          <p>
            Its pages have the address of this one: their scripts can read the key that this browser is signed in with, and do all that it
            may, in every city. Open it here only if you trust whoever can change that program, its agents too.
          </p>
          <p className="mt-2">
            Otherwise open it where nobody is signed in, as in a private window:{' '}
            <code>{new URL(addressOf(city, opening), location.href).href}</code>
          </p>
        </Confirm>
      )}
      {restarting !== undefined && (
        <Confirm
          title={`Restart ${restarting}?`}
          action={`Restart ${restarting}`}
          onClose={() => setRestarting(undefined)}
          onYes={() =>
            void act.run(`restart ${restarting}`, async () => {
              await post(inCity(city, `service/${part(restarting)}/restart`), undefined, { idempotencyKey: newKey() });
              reading.again();
              return `Nobody reaches the old process of ${restarting} any more; a new one begins`;
            })
          }
        >
          Its process is ended and begun anew. Requests that it has in work are lost.
        </Confirm>
      )}
    </Frame>
  );
}

interface OpenProps {
  readonly city: string;
  readonly service: Service;
  readonly onAsk: () => void;
}

function Open({ city, service, onAsk }: OpenProps): ReactNode {
  const signing = useSigning();
  const address = addressOf(city, service);
  const keys = signing.kind !== 'in' || signing.info.auth === 'keys';
  switch (openingOf(service.publish_mode, address, location.href, keys)) {
    case 'never':
      return <Button not="it asks for a key, and a browser sends none with an address">Open</Button>;
    case 'ask':
      return <Button onClick={onAsk}>Open</Button>;
    case 'link':
      return (
        <a
          href={address}
          target="_blank"
          rel="noopener noreferrer"
          className="inline-flex min-h-8 items-center rounded-md border border-line bg-panel px-2.5 py-1 text-sm font-medium hover:bg-raised pointer-coarse:min-h-11"
        >
          Open
        </a>
      );
  }
}

/** Its own address where it has one that a browser may go to, else its place below the city’s. */
function addressOf(city: string, { url, service_name }: Service): string {
  if (url !== undefined && /^https?:\/\//.test(url)) return url;
  return `${inCity(city, `svc/${part(service_name)}`)}/`;
}

const factsOf = ({ kind, workflow_contract, mount_path, publication_state, visibility, attempts, retry_at, updated_at }: Service) =>
  [
    [
      'Kind',
      kind === 'workflow' ? `built in, by ${workflow_contract ?? 'its contract'}` : kind === undefined ? undefined : 'a process of its own',
    ],
    [
      'Path',
      <code key="path" className="text-xs">
        {visible(mount_path)}
      </code>,
    ],
    ['Reached from outside', [...new Set([publication_state, visibility])].filter((one) => one !== undefined).join(', ')],
    ['Processes so far', attempts],
    ['Begun anew', retry_at === undefined ? undefined : new Date(retry_at).toLocaleTimeString()],
    ['Changed', <Ago key="changed" at={updated_at} />],
  ] as const;
