import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { startAnvil, type Anvil, type AnvilOptions } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import type { ContractName } from '@opentill/devnets/evm/contract-artifacts';
import {
  callContract,
  DEV_TOKEN_ADDRESSES,
  deployContract,
  deployDevTokens,
  mine,
  payToken,
  setBlockTime,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { evmDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { readEvmTransfers } from '@opentill/testkit/evm-transfers';
import { anEvmAddress } from '@opentill/testkit/scenario';
import { createScannerWorldOf, type Replica as ReplicaOf } from '@opentill/testkit/scanner-world';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createApp, type ScannerApp } from '../src/app.ts';

export const CHAIN = 'ETH_SEPOLIA';
const CHAIN_ID = 11155111;

export type Replica = ReplicaOf<ScannerApp>;

export interface Payment {
  readonly tx: string;
  readonly to: string;
  readonly amount: string;
  readonly height: number;
  readonly block: string;
}

export type ScannerWorld = Awaited<ReturnType<typeof createScannerWorld>>;

/** An anvil with the development tokens that mines only by `mine`. */
export async function startTokenChain(
  dir: string,
  options: Pick<AnvilOptions, 'chainId'> & Partial<AnvilOptions>,
): Promise<Anvil> {
  const anvil = await startAnvil({ dir, port: await findFreePort(), ...options });
  await setBlockTime(anvil.rpcUrl, 0);
  await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  return anvil;
}

export async function createScannerWorld(
  options: Partial<Pick<AnvilOptions, 'slotsInAnEpoch'>> & { readonly network?: Partial<NetworkConfig> } = {},
) {
  const { network: overrides, ...anvilOptions } = options;
  const dir = await mkdtemp(join(tmpdir(), 'scanner-evm-'));
  const anvil = await startTokenChain(dir, { chainId: CHAIN_ID, ...anvilOptions });
  const { rpcUrl } = anvil;
  const usdt = DEV_TOKEN_ADDRESSES.USDT;
  const { privateKey } = devAccount(2);
  const batch = await deploy(rpcUrl, 'TransferBatch', [], 2);
  await payToken({ rpcUrl, token: usdt, fromKey: privateKey, to: batch, amountBaseUnits: 10n ** 12n });
  await mine({ rpcUrl, blocks: 31 });
  const network = evmDevnetNetwork(anvil, { chain: CHAIN, chainId: CHAIN_ID, ...overrides });
  const world = await createScannerWorldOf({
    service: 'scanner-evm',
    network,
    newAddress: anEvmAddress,
    createApp,
    async isCaughtUp({ seen, verified, seenHash }) {
      const head = await callRpc<{ hash: string }>(rpcUrl, 'eth_getBlockByNumber', ['latest', false]);
      const depth = network.confirmations === 'finalized' ? undefined : network.confirmations - 1;
      return seenHash === head.hash && (depth === undefined || verified === seen - depth);
    },
    async closeDevnet() {
      await anvil.stop('kill');
      await rm(dir, { recursive: true });
    },
  });
  const { admin } = world;
  return {
    ...world,
    anvil,
    usdt,
    /** Included in the next block. */
    pay: (to: string, amount: bigint, account = 1) =>
      payToken({ rpcUrl, token: usdt, fromKey: devAccount(account).privateKey, to, amountBaseUnits: amount }),
    payMany: (items: readonly { readonly to: string; readonly amount: bigint }[]) =>
      callContract({
        rpcUrl,
        fromKey: privateKey,
        contract: 'TransferBatch',
        address: batch,
        method: 'send',
        methodArguments: [items.map(({ to, amount }) => [usdt, to, amount])],
        gasLimit: 2_000_000n,
      }),
    mine: (blocks = 1) => mine({ rpcUrl, blocks }),
    /** Read without the scanner's code, after the first cursor. */
    async paymentsOnChain(): Promise<readonly Payment[]> {
      const { rows } = await sql<{ address: string }>`select address from deposit_address`.execute(
        admin.kysely,
      );
      const ours = new Set(rows.map((row) => row.address));
      const logs = await readEvmTransfers(rpcUrl, [usdt]);
      return sorted(
        logs
          .filter(({ to }) => ours.has(to))
          .map(({ tx, to, amount, height, block }) => ({ tx, to, amount: `${amount}`, height, block })),
      );
    },
    async recorded(...states: readonly string[]): Promise<readonly Payment[]> {
      const { rows } = await sql<Payment>`
        select tx_hash as tx, to_address as to, amount::text as amount, block_height as height, block_hash as block
        from transfer where state = any(${states})`.execute(admin.kysely);
      return sorted(rows);
    },
    /** A live replica keeps the chain until it stops even if the machine stalls. */
    async holdLeases(): Promise<void> {
      await sql`create function scanner_evm.hold_lease() returns trigger language plpgsql as $$
        begin new.expires_at = now() + interval '10 minutes'; return new; end $$`.execute(admin.kysely);
      await sql`create trigger lease_held before insert or update on scanner_evm.lease for each row
        when (new.name like 'chain:%' and new.expires_at > now()) execute function scanner_evm.hold_lease()`.execute(
        admin.kysely,
      );
    },
  };
}

export async function deploy(
  rpcUrl: string,
  contract: ContractName,
  constructorArguments: readonly unknown[],
  account: number,
): Promise<string> {
  const fromKey = devAccount(account).privateKey;
  const deploying = deployContract({ rpcUrl, fromKey, contract, constructorArguments });
  await waitUntil('the creation waits for a block', async () => {
    const pool = await callRpc<{ pending: string }>(rpcUrl, 'txpool_status', []);
    return Number(pool.pending) === 1;
  });
  await mine({ rpcUrl, blocks: 1 });
  return deploying;
}

function sorted(payments: readonly Payment[]): readonly Payment[] {
  const key = (p: Payment): string => `${p.height} ${p.tx} ${p.to} ${p.amount}`;
  return [...payments].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
