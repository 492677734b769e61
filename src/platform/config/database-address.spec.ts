import { describe, expect, it } from '@jest/globals';
import { addressesOf, faultOf } from './database-address.js';

describe('the address of a database', () => {
  it.each([
    ['postgres://svc@one/x', ['postgres://svc@one/x']],
    [
      'postgres://svc:p%40w@one:5433,two,[::1]:5434/x?target_session_attrs=read-write&sslmode=require',
      [
        'postgres://svc:p%40w@one:5433/x?sslmode=require',
        'postgres://svc:p%40w@two/x?sslmode=require',
        'postgres://svc:p%40w@[::1]:5434/x?sslmode=require',
      ],
    ],
    ['postgresql://one,two/x', ['postgresql://one/x', 'postgresql://two/x']],
    ['postgres:///x?host=/tmp', ['postgres:///x?host=/tmp']],
  ])('%s names %j', (url, addresses) => {
    expect(addressesOf(url)).toEqual(addresses);
    expect(faultOf(url)).toBeUndefined();
  });

  it.each(['mysql://one/x', 'one', 'postgres://one,,two/x', 'postgres://one,two:port/x', 'postgres://one/x?target_session_attrs=standby'])(
    '%s is refused',
    (url) => {
      expect(faultOf(url)).toMatch(/^has /);
      expect(faultOf(url)).not.toContain('svc');
    },
  );
});
