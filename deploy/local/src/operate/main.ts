import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKOUT, entryPoint } from '../checkout.ts';
import { chooseStateDirectory } from '../read-start-options.ts';
import type { Environment } from '../service-environments.ts';
import { operatorFileOf, parseOwnFile } from '../state-directory.ts';

// `npm run opentill`: the operators' command line, for the gateway of `npm start` unless the environment names a
// database. Also offers `devnet`, which no image contains.
const WITHOUT_GATEWAY = new Set(['approver', 'devnet', 'keys', 'policy']);
const { env } = process;
const isRoot = process.getuid?.() === 0;
const file = operatorFileOf(chooseStateDirectory({ env, isRoot, checkout: CHECKOUT }));
const isNamed = env['OPS_DATABASE_URL'] !== undefined || env['OPS_DATABASE_URL_FILE'] !== undefined;
const local: Environment = isNamed || !existsSync(file) ? {} : (parseOwnFile(file) as Environment);

// npm runs scripts in the checkout, but file arguments are relative to the caller's directory.
const callerDirectory = env['INIT_CWD'];
const [command, ...rest] = process.argv.slice(2);
const program =
  command === 'devnet'
    ? [join(CHECKOUT, 'tools', 'devnets', 'dist', 'main.js'), ...rest]
    : [entryPoint('cli'), ...process.argv.slice(2)];
const { status, error } = spawnSync(process.execPath, program, {
  env: { ...local, ...env },
  ...(callerDirectory === undefined || !existsSync(callerDirectory) ? {} : { cwd: callerDirectory }),
  stdio: 'inherit',
});
if (error !== undefined) throw error;
if (status !== 0 && !isNamed && !existsSync(file) && !WITHOUT_GATEWAY.has(command ?? ''))
  process.stderr.write(
    `No gateway of npm start was found (${file} does not exist). Run npm start, or set the variables of deploy/guides/configuration.md for your gateway.\n`,
  );
process.exitCode = status ?? 1;
