import { describe, expect, it } from '@jest/globals';
import { RouteTable } from './routes.js';

describe('RouteTable', () => {
  const table = new RouteTable();
  table.add({ url: '/v0/city/:cityName', method: 'GET' });
  table.add({ url: '/v0/city/:cityName', method: 'PATCH' });
  table.add({ url: '/v0/city/:cityName/svc/*', method: ['GET', 'POST'] });

  it('knows the methods of a path', () => {
    expect(table.allow('/v0/city/a')).toEqual(['GET', 'OPTIONS', 'PATCH']);
    expect(table.allow('/v0/city/a/svc/x/y')).toEqual(['GET', 'OPTIONS', 'POST']);
  });

  it('does not know paths that only resemble one', () => {
    expect(table.allow('/v0/city/')).toBeUndefined();
    expect(table.allow('/v0/city/a/b')).toBeUndefined();
    expect(table.allow('/v0/City/a')).toBeUndefined();
  });
});
