#!/usr/bin/env node
import { systemClock } from '@opentill/runtime/clock';
import { mapStackTraces } from '@opentill/runtime/map-stack-traces';
import { askSecretOnTerminal } from './ask-secret.ts';
import { runCli } from './run-cli.ts';

mapStackTraces();
process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  clock: systemClock,
  print: (line) => process.stdout.write(`${line}\n`),
  printError: (line) => process.stderr.write(`${line}\n`),
  askSecret: askSecretOnTerminal,
});
