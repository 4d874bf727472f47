#!/usr/bin/env node
import { CommanderError } from 'commander';
import { GatewayError } from '@opentill/domain/gateway-error';
import { systemClock } from '@opentill/runtime/clock';
import { askSecretOnTerminal } from './ask-secret.ts';
import { createProgram } from './program.ts';

const OPERATOR_ERROR = 1;
const RETRYABLE_ERROR = 75;

const program = createProgram({
  env: process.env,
  clock: systemClock,
  print: (line) => process.stdout.write(`${line}\n`),
  askSecret: askSecretOnTerminal,
});

try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode;
  } else if (error instanceof GatewayError) {
    process.stderr.write(`opentill: ${error.message}\n`);
    process.exitCode = error.retryable ? RETRYABLE_ERROR : OPERATOR_ERROR;
  } else {
    throw error;
  }
}
