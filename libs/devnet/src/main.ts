#!/usr/bin/env node
import { readDevnetArguments, runTronDevnet } from './run-tron-devnet.ts';

/* `opentill devnet <kind>`: a chain on this machine, until it is stopped. */
const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const options = readDevnetArguments(process.argv.slice(2));
if (typeof options === 'string') {
  process.stderr.write(`${options}\n`);
  process.exitCode = process.argv.includes('--help') ? 0 : 1;
} else {
  process.stdout.on('error', () => {}); // whoever read along has gone
  const devnet = await runTronDevnet(options, print);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void devnet.close());
}
