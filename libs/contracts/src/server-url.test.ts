import { describe, expect, test } from 'vitest';
import { changeServerUrl, findServerUrlProblem, hostOf, urlPerHost } from './server-url.ts';

describe('urlPerHost', () => {
  test('gives each host the user, path and parameters', () => {
    expect(urlPerHost('amqps://me:a,b@one:5671,[::1]:5672,three/vh?heartbeat=5')).toEqual([
      'amqps://me:a,b@one:5671/vh?heartbeat=5',
      'amqps://me:a,b@[::1]:5672/vh?heartbeat=5',
      'amqps://me:a,b@three/vh?heartbeat=5',
    ]);
  });

  test('leaves a URL with one host unchanged', () => {
    const url = 'postgres:///opentill?host=/var/run/postgresql&x=1,2';
    expect(urlPerHost(url)).toEqual([url]);
  });
});

test('changeServerUrl keeps the list of hosts', () => {
  const change = (url: URL): void => {
    url.username = 'opentill_api';
    url.password = encodeURIComponent('p@ss/w');
  };
  expect(changeServerUrl('postgres://one:1,two:2/db?target_session_attrs=read-write', change)).toBe(
    'postgres://opentill_api:p%40ss%2Fw@one:1,two:2/db?target_session_attrs=read-write',
  );
  expect(changeServerUrl('postgres://admin:x@one:1/db', change)).toBe(
    'postgres://opentill_api:p%40ss%2Fw@one:1/db',
  );
});

test('hostOf contains no user and no password', () => {
  expect(hostOf('amqp://me:secret@one:5672/vh')).toBe('one:5672');
  expect(hostOf('amqp://me:se@cret@one,two/vh')).toBe('one,two');
});

describe('findServerUrlProblem', () => {
  test.each([
    'amqp://me:pw@one:5672,two:5672/vh',
    'postgres://one,two:5433/db',
    'postgresql://one,two/db?target_session_attrs=primary',
    'postgres:///db?host=/run/postgresql',
    'https://one,,two/',
  ])('accepts %s', (url) => {
    expect(findServerUrlProblem(url)).toBeUndefined();
  });

  test.each([
    ['amqp://me:secret@one,,three', /^has no host at place 2/],
    ['amqp://me:secret@one,:5672', /^has no host at place 2/],
    ['postgres://me:secret@one:1,two:99999/db', /^has an invalid host or port at place 2/],
    ['postgres://me:secret@one:1,two:1,one:1/db', /^names the host one:1 twice/],
    ['postgres://me:secret@one, two/db', /^has a space in its list/],
    ['postgres://me:secret@one/db?target_session_attrs=any', /^has target_session_attrs=any/],
  ])('rejects %s', (url, problem) => {
    expect(findServerUrlProblem(url)).toMatch(problem);
    expect(findServerUrlProblem(url)).not.toContain('secret');
  });
});
