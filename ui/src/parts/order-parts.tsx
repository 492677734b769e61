import type { ReactNode } from 'react';
import { inCity, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useNow } from '../lib/clock.js';
import { serviceClock } from '../lib/service-clock.js';
import { ago, visible } from '../lib/text.js';
import { done } from '../live/undo.js';
import { useActing } from './acting.js';
import { Button, State, type Tone } from './basics.js';

type Order = Schemas['OrderResponse'];

/** When it is fired, in words. */
export function comesOf({ trigger, schedule, interval, on, tz, check }: Order): string {
  switch (trigger) {
    case 'cron':
      return `at ${visible(schedule ?? '')}${tz === undefined ? '' : ` (${tz})`}`;
    case 'cooldown':
      return `every ${visible(interval ?? '')}`;
    case 'event':
      return `at ${visible(on ?? 'an event')}`;
    case 'condition':
      return `when ${visible(check ?? 'its check says so')}`;
    case 'webhook':
      return 'when it is called';
    default:
      return 'by hand';
  }
}

const OUTCOMES: Readonly<Record<string, Tone>> = { success: 'good', failed: 'bad', timeout: 'bad', lost: 'bad', canceled: 'quiet' };
export const OutcomeOf = ({ outcome }: { outcome: string | undefined }): ReactNode =>
  outcome === undefined || outcome === '' ? (
    <State tone="accent">goes on</State>
  ) : (
    <State tone={OUTCOMES[outcome] ?? 'quiet'}>{outcome}</State>
  );

/** How long until then. */
export function Until({ at }: { at: string }): ReactNode {
  useNow();
  const left = new Date(at).getTime() - serviceClock.now();
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()} className="whitespace-nowrap tabular-nums">
      {left <= 0 ? 'now' : `in ${ago(left)}`}
    </time>
  );
}

interface SwitchProps {
  readonly city: string;
  readonly order: Order;
  readonly onDone: () => void;
}

/** Whether it is fired by itself. */
export function OrderSwitch({ city, order: { scoped_name: name, enabled }, onDone }: SwitchProps): ReactNode {
  const { failed, busy, act } = useActing(onDone);
  const not = useForbidden(needs.enableOrder, needs.disableOrder);
  const set = (on: boolean): Promise<unknown> => post(inCity(city, `order/${part(name)}/${on ? 'enable' : 'disable'}`));
  return (
    <>
      {failed !== undefined && <State tone="bad">{failed instanceof Error ? visible(failed.message) : 'refused'}</State>}
      <Button
        not={not}
        disabled={busy}
        onClick={() =>
          act(
            () => set(!enabled),
            () => {
              onDone();
              done(enabled ? `${name} is paused` : `${name} is fired again`, () => set(enabled).then(onDone));
            },
          )
        }
      >
        {enabled ? 'Pause' : 'Go on'}
      </Button>
    </>
  );
}
