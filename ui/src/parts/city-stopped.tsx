import { useState, type ReactNode } from 'react';
import { inCity, newKey, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import { follow } from '../live/operations.js';
import { Button, Empty, Problem } from './basics.js';

/** A city that does not run shows nothing; one that is not there, or not for this key, says the same. */
export function CityStopped({ city, why }: { city: string; why: string }): ReactNode {
  const [error, setError] = useState<unknown>();
  const not = useForbidden('operate');
  const start = (): void => {
    setError(undefined);
    post<{ request_id: string }>(inCity(city, 'start'), undefined, { idempotencyKey: newKey() })
      .then(({ request_id }) => follow(`Start ${city}`, request_id))
      .catch(setError);
  };
  return (
    <Empty title={`${city} is not running, or is not there`}>
      <p className="words">{why}</p>
      <Button not={not} onClick={start}>
        Start it
      </Button>
      {error !== undefined && <Problem error={error} />}
    </Empty>
  );
}
