import { describe, expect, it } from '@jest/globals';
import { connectionOf } from './programs.js';

describe('a program of PostgreSQL', () => {
  it.each([
    ['postgres://svc:p%40ss@db:5433/svc?sslmode=require', 'postgres://svc@db:5433/svc?sslmode=require', 'p@ss'],
    ['postgres://svc@db/svc', 'postgres://svc@db/svc', process.env.PGPASSWORD],
  ])('is told %s without its password, which it finds in its environment', (url, address, password) => {
    const told = connectionOf(url);
    expect([told.address, told.env.PGPASSWORD]).toEqual([address, password]);
  });
});
