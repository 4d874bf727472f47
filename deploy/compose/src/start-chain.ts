import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import { startAnvil, type Anvil } from '@opentill/devnet/anvil';
import { deployDevTokens } from '@opentill/devnet/evm-devnet';
import { callRpc } from '@opentill/devnet/json-rpc';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Checks } from '@opentill/runtime/health';
import type { ChainVariables } from './config.ts';

/** - `CHAIN_NOT_LOCAL`: the networks file has no EVM network of this name. */
export type StartChainErrorCode = 'CHAIN_NOT_LOCAL';

/** A local chain that containers reach, with its test tokens. */
export interface RunningChain {
  readonly node: Anvil;
  readonly checks: Checks;
}

/** Starts the node on all addresses of the container and deploys the tokens, unless the kept chain has them. */
export async function startChain(
  networks: readonly NetworkConfig[],
  config: ChainVariables,
): Promise<RunningChain> {
  const network = networks.find(({ chain, family }) => chain === config.CHAIN && family === 'EVM');
  if (network?.chainId === undefined) {
    throw new GatewayError<StartChainErrorCode>(
      'CHAIN_NOT_LOCAL',
      `${config.NETWORKS_FILE} has no EVM network ${config.CHAIN}.`,
      { retryable: false },
    );
  }
  const node = await startAnvil({
    dir: config.STATE_DIR,
    host: '0.0.0.0',
    port: config.RPC_PORT,
    chainId: network.chainId,
    blockTimeSeconds: config.BLOCK_TIME_SECONDS,
    keepState: true,
  });
  try {
    await deployDevTokens({
      rpcUrl: node.rpcUrl,
      usdtDecimals: findToken(network, 'USDT')?.decimals ?? 6,
      usdcDecimals: findToken(network, 'USDC')?.decimals ?? 6,
    });
  } catch (error) {
    await node.stop('kill');
    throw error;
  }
  const answers = async () => ({
    ok: true,
    detail: `block ${Number(await callRpc<string>(node.rpcUrl, 'eth_blockNumber', []))}`,
  });
  return { node, checks: { node: answers } };
}
