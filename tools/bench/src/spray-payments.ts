import {
  callContract,
  deployContract,
  headHeight,
  mine,
  payToken,
  setBlockTime,
} from '@opentill/devnets/evm/start-evm-devnet';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { DevnetChain } from '@opentill/local/gateway-options';
import type { Gateway } from '@opentill/local/start-gateway';
import { recordHeads } from './measure-latency.ts';

/** What createOrders asks for, in base units of the devnets' USDT. */
export const PAYMENT_BASE_UNITS = 12_500_000n;

/** A devnet whose blocks are mined by hand, each with as many payments as one likes. */
export interface Sprayer {
  readonly chain: DevnetChain;
  /** How many blocks after its own a payment is credited. */
  readonly blocksToSuccess: number;
  /** Sends the payments of the next block. */
  queue(addresses: readonly string[]): Promise<void>;
  /** Mines what is queued; the block's height. */
  mine(): Promise<number>;
  /** When each block became visible at the node, on the clock of performance.now(). */
  readonly visibleAtMs: ReadonlyMap<number, number>;
  close(): void;
}

const RICH_ACCOUNT = 2;
const CHAIN = 'ETH_SEPOLIA';
/** So many confirmations local.json asks for; the payment's own block is the first. */
const CONFIRMATIONS = 3;
/** EIP-7825 caps a transaction at 2^24 gas; a transfer to a new holder takes about 40,000. */
const TRANSFERS_PER_TRANSACTION = 250;
const TRANSACTION_GAS = 16_000_000n;
const BLOCK_GAS = '0x3b9aca00';

/**
 * Takes ETH_SEPOLIA's devnet over: from now on it mines only when told. Payments are many in one transaction of a contract, so
 * that they cost the node little.
 */
export async function createSprayer(gateway: Gateway): Promise<Sprayer> {
  const chain = gateway.chains.find(({ network }) => network.chain === CHAIN);
  const token = chain?.network.tokens.find(({ symbol }) => symbol === 'USDT')?.contract;
  if (chain === undefined || token === undefined || token === null) throw new Error(`no USDT on ${CHAIN}`);
  const { rpcUrl, wsUrl } = chain.node;
  const fromKey = devAccount(RICH_ACCOUNT).privateKey;
  const address = await deployContract({ rpcUrl, fromKey, contract: 'TransferBatch' });
  await payToken({ rpcUrl, token, fromKey, to: address, amountBaseUnits: PAYMENT_BASE_UNITS * 1_000_000n });
  await callRpc(rpcUrl, 'evm_setBlockGasLimit', [BLOCK_GAS]);
  await setBlockTime(rpcUrl, 0);
  await mine({ rpcUrl, blocks: 2 }); // the gas limit holds from the second on
  const heads = await recordHeads(wsUrl);
  return {
    chain: CHAIN,
    blocksToSuccess: CONFIRMATIONS - 1,
    visibleAtMs: heads.visibleAtMs,
    async queue(addresses) {
      for (let start = 0; start < addresses.length; start += TRANSFERS_PER_TRANSACTION) {
        const items = addresses
          .slice(start, start + TRANSFERS_PER_TRANSACTION)
          .map((to) => ({ token, to, amount: PAYMENT_BASE_UNITS }));
        await callContract({
          rpcUrl,
          fromKey,
          contract: 'TransferBatch',
          address,
          method: 'send',
          methodArguments: [items],
          gasLimit: TRANSACTION_GAS,
        });
      }
    },
    async mine() {
      await mine({ rpcUrl, blocks: 1 });
      return headHeight(rpcUrl);
    },
    close: () => heads.close(),
  };
}
