import { describe, expect, test } from 'vitest';
import { choosePrimary } from './find-primary.ts';
import { createServerHistory, type ServerState } from './server-state.ts';

const A = 'postgres://me:secret@a:1/db';
const B = 'postgres://me:secret@b:1/db';
const URLS = [A, B];

const server = (change: Partial<ServerState> = {}): ServerState => ({
  writable: true,
  startedAt: '2026-01-01',
  systemId: '77',
  timeline: 3,
  ...change,
});
const standby = server({
  writable: false,
  startedAt: '2026-01-02',
  systemId: undefined,
  timeline: undefined,
});
const choose = (a: ServerState | Error, b: ServerState | Error, history = createServerHistory()) =>
  choosePrimary(
    URLS,
    new Map([
      [A, a],
      [B, b],
    ]),
    history,
  );
const unavailable = (message: RegExp) =>
  expect.objectContaining({
    code: 'DATABASE_UNAVAILABLE',
    retryable: true,
    message: expect.stringMatching(message),
  });
const failure = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('chose a primary');
};

describe('choosePrimary', () => {
  test('chooses the host that accepts writes', () => {
    expect(choose(standby, server())).toMatchObject({ url: B, conflicts: [] });
    expect(choose(new Error('ECONNREFUSED'), server())).toMatchObject({ url: B, conflicts: [] });
  });

  test('names the reason of each host, without secrets, when none accepts writes', () => {
    const error = failure(() => choose(standby, new Error('connect ECONNREFUSED')));
    expect(error).toEqual(unavailable(/a:1: it is read-only.*; b:1: connect ECONNREFUSED/));
    expect(String(error)).not.toContain('secret');
  });

  test('chooses the newer of two primaries and reports the other', () => {
    const old = server({ startedAt: '2026-01-02', timeline: 2 });
    expect(choose(old, server())).toMatchObject({
      url: B,
      conflicts: [expect.stringMatching(/^a:1: it is an old primary \(timeline 2\)/)],
    });
  });

  test('refuses both of two primaries on one timeline', () => {
    const error = failure(() => choose(server(), server({ startedAt: '2026-01-02' })));
    expect(error).toEqual(unavailable(/a:1 and b:1 both accept writes on timeline 3/));
    const hidden = { timeline: undefined, systemId: undefined };
    const unknown = failure(() => choose(server(hidden), server({ ...hidden, startedAt: '2026-01-02' })));
    expect(unknown).toEqual(unavailable(/both accept writes/));
  });

  test('refuses primaries of different clusters', () => {
    const error = failure(() => choose(server(), server({ systemId: '78', timeline: 9, startedAt: 'x' })));
    expect(error).toEqual(unavailable(/different database clusters/));
  });

  test('accepts two ways to one server', () => {
    expect(choose(server(), server())).toMatchObject({ url: A, conflicts: [] });
  });

  test('refuses an old primary after a newer timeline was seen', () => {
    const history = createServerHistory();
    history.record(server());
    const error = failure(() => choose(server({ timeline: 2 }), new Error('down'), history));
    expect(error).toEqual(
      unavailable(/a:1: it is an old primary \(timeline 2, the newest is 3\).*pg_rewind/),
    );
  });

  test('reports a wrong password of all hosts as forbidden', () => {
    const refused = Object.assign(new Error('password authentication failed'), { code: '28P01' });
    expect(failure(() => choose(refused, refused))).toMatchObject({
      code: 'DATABASE_FORBIDDEN',
      retryable: false,
    });
    expect(failure(() => choose(refused, standby))).toEqual(unavailable(/password authentication failed/));
  });
});

describe('createServerHistory', () => {
  test('reports a newer timeline once, but not the first one', () => {
    const history = createServerHistory();
    expect([3, 3, 4, 4].map((timeline) => history.record(server({ timeline })))).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect(history.timeline).toBe(4);
  });

  test('refuses a standby and another cluster', () => {
    const history = createServerHistory();
    history.record(server());
    expect(history.refusalOf(standby)).toMatch(/read-only/);
    expect(history.refusalOf(server({ systemId: '78' }))).toMatch(/another database cluster/);
    expect(history.refusalOf(server({ systemId: undefined, timeline: undefined }))).toBeUndefined();
  });
});
