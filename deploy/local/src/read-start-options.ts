import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { GatewayError } from '@opentill/domain/gateway-error';
import { LOCAL_PORTS, type GatewayOptions } from './gateway-options.ts';

export type StartOptionsErrorCode = 'START_USAGE';

export interface StartRequest {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
  readonly checkout: string;
}

export function readStartOptions(request: StartRequest): GatewayOptions {
  const { env, checkout } = request;
  const { keep, networks } = parseArguments(request.args);
  const version = env['MERCHANT_VERSION'] || 'V3';
  if (version !== 'V2' && version !== 'V3') throw usage(`MERCHANT_VERSION must be V2 or V3, not ${version}.`);
  return {
    stateDir: chooseStateDirectory(request),
    keep,
    ports: LOCAL_PORTS,
    merchant: {
      token: env['MERCHANT_TOKEN'] || 'dev-merchant-token-of-this-machine',
      webhookSecret: env['WEBHOOK_SECRET'] || 'dev-webhook-secret',
      callbackUrl: env['CALLBACK_URL'] || `http://localhost:${LOCAL_PORTS.shop}/callbacks`,
      version,
    },
    ownNodes: {
      networksFile: networks === undefined ? undefined : resolve(checkout, networks),
      environment: env,
    },
    given: { databaseUrl: env['DATABASE_URL'], amqpUrl: env['AMQP_URL'] },
  };
}

/** OPENTILL_STATE_DIR, else a directory of the checkout. For root in /var/tmp, where the database's user can enter. */
export function chooseStateDirectory({ env, isRoot, checkout }: Omit<StartRequest, 'args'>): string {
  const chosen = env['OPENTILL_STATE_DIR'];
  if (chosen) return resolve(checkout, chosen);
  if (!isRoot) return join(checkout, '.local');
  return `/var/tmp/opentill-${createHash('sha256').update(checkout).digest('hex').slice(0, 12)}`;
}

function parseArguments(args: readonly string[]): { keep: boolean; networks: string | undefined } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { keep: { type: 'boolean' }, networks: { type: 'string' } },
    });
    return { keep: values.keep ?? false, networks: values.networks };
  } catch (error) {
    throw usage(
      `npm start accepts --keep (continue with the last run's data) and --networks FILE (your own nodes). ${(error as Error).message}`,
    );
  }
}

function usage(message: string): GatewayError<StartOptionsErrorCode> {
  return new GatewayError('START_USAGE', message, { retryable: false });
}
