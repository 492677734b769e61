import type { ReactNode } from 'react';
import { coversOf, idOf, kindOf, wordsOf, type One } from '../lib/mutes.js';
import { visible } from '../lib/text.js';
import { unmute, useMutes } from '../live/mutes.js';
import { askerOf } from './ask-card.js';
import { Button, State } from './basics.js';
import { Rows } from './page.js';

interface Props {
  readonly muted: readonly One[];
  /** Whether what is muted is shown, too. */
  readonly shown: boolean;
  readonly onShow: (on: boolean) => void;
}

/** What this browser does not tell of, until when, and how that ends sooner. */
export function Muted({ muted, shown, onShow }: Props): ReactNode {
  const mutes = useMutes();
  if (mutes.length === 0) return null;
  return (
    <section aria-label="Muted in this browser" className="flex flex-col gap-2 rounded-lg border border-line bg-raised px-3 py-2 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="font-semibold">Muted in this browser</h2>
        {muted.length > 0 && (
          <Button look="quiet" aria-expanded={shown} onClick={() => onShow(!shown)}>
            {shown ? 'Hide' : 'Show'} {muted.length === 1 ? 'what is muted' : `the ${muted.length} that are muted`}
          </Button>
        )}
      </div>
      <ul className="flex flex-col gap-1">
        {mutes.map(({ covers, until }) => (
          <li key={covers} data-mute={covers} className="flex flex-wrap items-center gap-x-3">
            <span className="words min-w-0 flex-1">
              {visible(wordsOf(covers))}, until {new Date(until).toLocaleString([], { dateStyle: 'short', timeStyle: 'short' })}
            </span>
            <Button onClick={() => unmute(covers)} aria-label={`Unmute ${wordsOf(covers)}`}>
              Unmute
            </Button>
          </li>
        ))}
      </ul>
      {shown && muted.length > 0 && (
        <Rows label="What is muted">
          {muted.map((one) => (
            <li key={idOf(one)} data-muted={idOf(one)} className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5">
              <State tone="quiet">{kindOf(one)}</State>
              <span className="min-w-0 flex-1 truncate">
                {visible('since' in one ? one.title : `${askerOf(one)}: ${one.prompt ?? one.kind}`)}
              </span>
              <span className="text-xs text-muted">{visible(wordsOf(coversOf(one)[0]!))}</span>
            </li>
          ))}
        </Rows>
      )}
    </section>
  );
}
