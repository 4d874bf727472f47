import { createServer, type ServerResponse } from 'node:http';
import { toQuantity, ZeroAddress } from 'ethers';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { startAnvil, type AnvilOptions } from '@opentill/devnets/evm/anvil';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { callContract, deployContract, deployDevTokens, mine } from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import { listenLocally, readBody } from './local-http-server.ts';

/** Predeploys, and the account that receives the fees for data (ethereum-optimism/specs). */
const L1_BLOCK = '0x4200000000000000000000000000000000000015';
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000F';
const L1_FEE_VAULT = '0x420000000000000000000000000000000000001a';
/** Packed: 20 bytes, the scalar (4), the constant (8). */
const OPERATOR_FEE_SLOT = '0x8';
const RICH_WEI = toQuantity(10n ** 30n);

/** In wei; scalars are millionths. */
export interface OpStackPrices {
  readonly baseFee: bigint;
  readonly baseFeeScalar: bigint;
  readonly blobBaseFee: bigint;
  readonly blobBaseFeeScalar: bigint;
  readonly operatorFeeConstant: bigint;
  readonly operatorFeeScalar: bigint;
}

export interface OpStackNode {
  readonly rpcUrl: string;
  /** anvil itself, whose receipts lack the fees. */
  readonly anvilUrl: string;
  /** For the transactions after this call. */
  setPrices(prices: OpStackPrices): Promise<void>;
  stop(): Promise<void>;
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}
interface Answer {
  readonly id: unknown;
  readonly result?: unknown;
}
interface Receipt {
  readonly transactionHash: string;
  readonly blockNumber: string;
}
type Balances = Readonly<Record<string, { readonly balance?: string }>>;

/**
 * anvil deducts the data fee and the operator fee of Isthmus. Its receipts lack the fields for them, so this node adds
 * them: the data fee is what the transaction paid into the vault.
 */
export async function startOpStackNode(
  options: Omit<AnvilOptions, 'network'> & { readonly prices: OpStackPrices },
): Promise<OpStackNode> {
  const anvil = await startAnvil({ ...options, network: 'optimism' });
  const server = createServer((request, response) => {
    void readBody(request)
      .then((body) => answerOf(anvil.rpcUrl, body))
      .then(
        (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(body),
        (error: unknown) => fail(response, error),
      );
  });
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await anvil.stop();
  };
  const setPrices = (prices: OpStackPrices) => pricesInBlock(anvil.rpcUrl, prices);
  try {
    await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
    await installPredeploys(anvil.rpcUrl);
    await setPrices(options.prices);
    return { rpcUrl: await listenLocally(server), anvilUrl: anvil.rpcUrl, setPrices, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The contracts have no constructors, so their code is the same at any address. */
async function installPredeploys(rpcUrl: string): Promise<void> {
  const fromKey = devAccount(0).privateKey;
  for (const [contract, predeploy] of [
    ['L1Block', L1_BLOCK],
    ['GasPriceOracle', GAS_PRICE_ORACLE],
  ] as const) {
    const creation = deployContract({ rpcUrl, fromKey, contract });
    const code = await callRpc<string>(rpcUrl, 'eth_getCode', [await creation, 'latest']);
    await callRpc(rpcUrl, 'anvil_setCode', [predeploy, code]);
  }
}

async function pricesInBlock(rpcUrl: string, prices: OpStackPrices): Promise<void> {
  const { baseFee, baseFeeScalar, blobBaseFee, blobBaseFeeScalar, operatorFeeConstant, operatorFeeScalar } =
    prices;
  const txid = await callContract({
    rpcUrl,
    fromKey: devAccount(0).privateKey,
    contract: 'L1Block',
    address: L1_BLOCK,
    method: 'setPrices',
    methodArguments: [
      baseFee,
      baseFeeScalar,
      blobBaseFee,
      blobBaseFeeScalar,
      operatorFeeConstant,
      operatorFeeScalar,
    ],
  });
  await mine({ rpcUrl, blocks: 1 });
  await waitForReceipt(rpcUrl, txid);
}

async function answerOf(rpcUrl: string, body: string): Promise<string> {
  const asked = JSON.parse(body) as Call | Call[];
  const calls = Array.isArray(asked) ? asked : [asked];
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map(simulation)),
  });
  const answers = (await response.json()) as readonly Answer[];
  const methods = new Map(calls.map(({ id, method }) => [id, method]));
  const completed = await Promise.all(answers.map((one) => withFees(rpcUrl, methods.get(one.id), one)));
  return JSON.stringify(Array.isArray(asked) ? completed : completed[0]);
}

/** Anvil rejects a simulation for an account that cannot pay the fee. Nodes of the OP Stack do not. */
function simulation(call: Call): Call {
  if (call.method !== 'eth_call' && call.method !== 'eth_estimateGas') return call;
  const [transaction, block = 'latest'] = call.params as [{ readonly from?: string }, unknown?];
  const payer = { [transaction.from ?? ZeroAddress]: { balance: RICH_WEI } };
  return { ...call, params: [transaction, block, payer] };
}

async function withFees(rpcUrl: string, method: string | undefined, answer: Answer): Promise<Answer> {
  const { result } = answer;
  if (method === 'eth_getTransactionReceipt' && result)
    return { ...answer, result: await feesOf(rpcUrl, result as Receipt) };
  if (method !== 'eth_getBlockReceipts' || !Array.isArray(result)) return answer;
  return {
    ...answer,
    result: await Promise.all(result.map((receipt) => feesOf(rpcUrl, receipt as Receipt))),
  };
}

async function feesOf(rpcUrl: string, receipt: Receipt): Promise<object> {
  const tracer = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } };
  const params = [receipt.transactionHash, tracer];
  const diff = await callRpc<{ pre: Balances; post: Balances }>(rpcUrl, 'debug_traceTransaction', params);
  const vaultIn = (balances: Balances) => BigInt(balances[L1_FEE_VAULT]?.balance ?? '0x0');
  const slot = await callRpc<string>(rpcUrl, 'eth_getStorageAt', [
    L1_BLOCK,
    OPERATOR_FEE_SLOT,
    receipt.blockNumber,
  ]);
  const [operatorFeeScalar, operatorFeeConstant] = [slot.slice(42, 50), slot.slice(50, 66)].map((hex) =>
    toQuantity(BigInt(`0x${hex}`)),
  );
  const l1Fee = toQuantity(vaultIn(diff.post) - vaultIn(diff.pre));
  return { ...receipt, l1Fee, operatorFeeScalar, operatorFeeConstant };
}

function fail(response: ServerResponse, error: unknown): void {
  response.writeHead(502).end(String(error));
}
