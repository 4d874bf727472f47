import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const BOOTSTRAP = join(import.meta.dirname, '..', 'bootstrap');
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'opentill-bootstrap-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function runLanes(lanes: Readonly<Record<string, string>>[]) {
  const steps = lanes.map((lane) =>
    Object.entries(lane).map(([name, script]) => ({ name, command: 'sh', args: ['-c', script] })),
  );
  const program = `
    const { runLanes } = await import(${JSON.stringify(join(BOOTSTRAP, 'run-lanes.mjs'))});
    const codes = await runLanes(${JSON.stringify(steps)}, process.env);
    console.log(JSON.stringify(Object.fromEntries(codes)));`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 110_000,
  });
  return { status, out: stdout.trim().split('\n'), errors: stderr };
}

describe('runLanes', () => {
  test('runs lanes concurrently and steps in order, also after a failure', () => {
    const file = (name: string) => join(directory, name);
    const meet = (mine: string, other: string) =>
      `touch ${file(mine)}; until [ -e ${file(other)} ]; do sleep 0.01; done`;
    const { out } = runLanes([
      { a: meet('a', 'b'), c: `${meet('c', 'd')}; exit 3` },
      { b: `${meet('b', 'a')}; exit 4`, d: meet('d', 'c') },
    ]);
    expect(JSON.parse(out.at(-1)!)).toEqual({ a: 0, b: 4, c: 3, d: 0 });
  });

  test("gives the terminal to the first lane and prints others' output step by step", () => {
    const { out, errors } = runLanes([
      { first: 'echo out; echo err >&2' },
      { second: 'echo 1; sleep 0.1; echo 2 >&2; exit 5' },
    ]);
    expect(out[0]).toBe('out');
    expect(errors).toContain('err\n');
    expect(errors).toMatch(/ s {2}second: exit code 5\n1\n2\n/);
  });

  test('ends all lanes on a stop signal, starts no step, and exits with its code', () => {
    const { status, out, errors } = runLanes([
      { waits: 'sleep 100', never: 'echo never' },
      { stops: `kill -TERM $(ps -o ppid= $$); sleep 100`, neither: 'echo neither' },
    ]);
    expect(status).toBe(143);
    expect(out).toEqual(['']);
    expect(errors).not.toMatch(/never|neither/);
  });
});

describe('test runs', () => {
  // A separate process without a Docker engine.
  test.each(['runDefaultTests', 'runLongTests'])('%s starts the runs and adds up their counts', (name) => {
    const program = `
      const { ${name} } = await import(${JSON.stringify(join(BOOTSTRAP, 'run-tests.mjs'))});
      console.log(JSON.stringify(await ${name}(['no-test-of-this-name'], process.env)));`;
    const { stdout, stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      timeout: 280_000,
      env: { ...process.env, DOCKER_HOST: 'unix:///nobody' },
    });
    expect({ signal, stderr: stdout === '' ? stderr : '' }).toEqual({ signal: null, stderr: '' });
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toEqual({
      passed: 0,
      failed: 0,
      skipped: 0,
      otherFailures: [],
    });
  });
});

describe('build fingerprint', () => {
  function makeCheckout(): (file: string, text?: string) => void {
    const write = (file: string, text = file): void => {
      const path = join(directory, 'checkout', file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    };
    for (const file of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'tsconfig.base.json'])
      write(file);
    for (const file of ['.ci/tsconfig.build.json', 'services/README', 'deploy/README', 'tools/README'])
      write(file);
    for (const file of ['README.md', 'docs/api.md', 'docs/architecture/a.md']) write(file);
    for (const file of ['package.json', 'src/a.ts', 'src/b/c.ts', 'dist/a.js', 'test/a.ts'])
      write(`libs/one/${file}`);
    return write;
  }

  test('changes the fingerprint with source, setting, document and output only', async () => {
    const { fingerprintOf } = (await import(join(BOOTSTRAP, 'build.mjs'))) as {
      fingerprintOf(root: string): string;
    };
    const fingerprint = (): string => fingerprintOf(join(directory, 'checkout'));
    const write = makeCheckout();
    const first = fingerprint();
    expect(fingerprint()).toBe(first);
    write('libs/one/test/b.ts');
    write('libs/one/results/x');
    write('LICENSE');
    expect(fingerprint()).toBe(first);

    const known = new Set([first]);
    const expectChange = (change: () => void): void => {
      change();
      expect(known).not.toContain(fingerprint());
      known.add(fingerprint());
    };
    expectChange(() => write('libs/one/src/a.ts', 'longer than it was'));
    expectChange(() => write('libs/one/src/b/d.ts'));
    expectChange(() => rmSync(join(directory, 'checkout', 'libs/one/src/b/d.ts')));
    expectChange(() => write('libs/one/dist/a.js', 'tampered with'));
    expectChange(() => rmSync(join(directory, 'checkout', 'libs/one/dist'), { recursive: true }));
    expectChange(() => write('build/one/dist/main.js'));
    expectChange(() => write('libs/one/vite.config.mjs'));
    expectChange(() => write('docs/api.md', 'another text'));
    expectChange(() => write('libs/one/docs/a.md'));
    expectChange(() => write('pnpm-lock.yaml', 'other versions'));
    expectChange(() => {
      cpSync(join(directory, 'checkout', 'libs/one'), join(directory, 'checkout', 'libs/two'), {
        recursive: true,
      });
    });
  });
});

test('prints its commands before it fetches anything', () => {
  const main = join(BOOTSTRAP, '..', 'bootstrap.mjs');
  const { status, stderr } = spawnSync(process.execPath, [main, 'nonsense'], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'opentill: Use one of: start, test, test-full, bench, ci, opentill.\n',
  });
});

describe('toolchain', () => {
  const TOOLCHAIN = join(BOOTSTRAP, '..', 'toolchain');
  const pinned = JSON.parse(readFileSync(join(TOOLCHAIN, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; integrity?: string }>;
  };

  test("pins an integrity for each package of the toolchain, and pnpm's version", () => {
    const { '': root, ...packages } = pinned.packages;
    expect(root).toBeDefined();
    expect(Object.values(packages).map(({ integrity }) => integrity)).toEqual(
      Object.values(packages).map(() => expect.stringMatching(/^sha512-/)),
    );
    const { packageManager } = JSON.parse(
      readFileSync(join(BOOTSTRAP, '..', '..', '..', 'package.json'), 'utf8'),
    ) as { packageManager: string };
    expect(`pnpm@${packages['node_modules/pnpm']?.version}`).toBe(packageManager);
  });

  test('installs the toolchain in a folder that no other user can write', () => {
    const checkout = join(directory, 'toolchain-checkout');
    cpSync(BOOTSTRAP, join(checkout, 'deploy', 'local', 'bootstrap'), { recursive: true });
    cpSync(TOOLCHAIN, join(checkout, 'deploy', 'local', 'toolchain'), { recursive: true });
    writeFileSync(join(checkout, 'package.json'), '{"packageManager":"pnpm@0.0.0"}');
    // Fake npm and npx that print their path and arguments, and fail.
    const programs = join(directory, 'programs');
    mkdirSync(programs);
    for (const name of ['npm', 'npx'])
      writeFileSync(
        join(programs, name),
        `#!/bin/sh\necho "${name} $*"; pwd; stat -c 'mode %a' .; exit 1\n`,
        { mode: 0o755 },
      );
    const module = JSON.stringify(join(checkout, 'deploy', 'local', 'bootstrap', 'toolchain.mjs'));
    const { stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', `(await import(${module})).findToolchain()`],
      { encoding: 'utf8', env: { PATH: `${programs}:${process.env['PATH']}`, TMPDIR: programs } },
    );
    expect(stderr).toMatch(/npm ci --ignore-scripts .*--omit=optional/);
    expect(stderr).toContain(join(checkout, '.local', 'toolchain'));
    expect(stderr).toContain('mode 700');
  });
});
