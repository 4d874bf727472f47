import { Ajv2020 } from 'ajv/dist/2020.js';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readJson } from '@opentill/domain/read-json';
import type { NetworkConfig } from './network-config.ts';
import { NETWORK_FILE_SCHEMA } from './network-file-schema.ts';
import { mistakesOf } from './network-mistakes.ts';
import { withEnvironment, type NetworkEnvironment } from './network-overrides.ts';

export type NetworkConfigErrorCode =
  /** A network file is not JSON, breaks its schema or contradicts itself; the message lists every mistake. */
  'NETWORKS_INVALID';

/** A test validates the schema itself: doing so here would cost every process more than the rest. */
const AJV_OPTIONS = { allErrors: true, strict: true, allowUnionTypes: true, validateSchema: false } as const;

/**
 * The environment replaces URLs of the file. The error lists all mistakes, without URLs, because they contain keys of
 * providers. @throws GatewayError NETWORKS_INVALID
 */
export function parseNetworkFile(
  text: string,
  fileName: string,
  environment: NetworkEnvironment = {},
): readonly NetworkConfig[] {
  const read = readJson(text);
  if (!read.ok) throw invalid(fileName, [read.mistake]);
  const parsed = read.value;
  const validate = new Ajv2020(AJV_OPTIONS).compile<{ networks: NetworkConfig[] }>(NETWORK_FILE_SCHEMA);
  if (!validate(parsed)) {
    const problems = (validate.errors ?? []).map(
      (e) => `${e.instancePath || '/'} ${e.message ?? 'is invalid'}`,
    );
    throw invalid(fileName, problems);
  }
  const mistakes: string[] = [];
  const networks = parsed.networks.map((network) => withEnvironment(network, environment, mistakes));
  mistakes.push(...mistakesOf(parsed.networks));
  if (mistakes.length > 0) throw invalid(fileName, mistakes);
  return networks;
}

function invalid(fileName: string, mistakes: readonly string[]): GatewayError<NetworkConfigErrorCode> {
  return new GatewayError('NETWORKS_INVALID', `${fileName}:\n  ${mistakes.join('\n  ')}`, {
    retryable: false,
    context: { fileName },
  });
}
