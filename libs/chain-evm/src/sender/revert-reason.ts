import type { ReaderError } from '@opentill/chain/reader-error';
import { AbiCoder } from 'ethers/abi';
import { isRevert } from '../translate-rpc-error.ts';

/** Selectors of Error(string) and Panic(uint256). */
const ERROR_SELECTOR = '0x08c379a0';
const PANIC_SELECTOR = '0x4e487b71';
/** Errors of OpenZeppelin 5. */
const KNOWN_ERRORS: Readonly<Record<string, string>> = {
  '0xe450d38c': 'ERC20InsufficientBalance',
  '0xec442f05': 'ERC20InvalidReceiver',
  '0x96c6fd1e': 'ERC20InvalidSender',
  '0xd93c0665': 'EnforcedPause',
};
const DETAIL_MAX = 200;

/**
 * The EVM itself ended the call: wordings of geth and its forks (bor, bsc, coreth, erigon), nethermind, besu, reth,
 * anvil. A call without a gas price can lack money only for its value.
 */
const EXECUTION_FAILED =
  /out of ?gas|gas required exceeds|insufficient (?:funds|balance)|InsufficientBalance|OutOfFunds?|exceeds (?:account )?balance|enough (?:funds|balance)|max call depth|stack (?:limit|overflow|underflow)|write protection|return data out of bounds|gas u?int(?:64)? overflow|execution (?:failed|halted|error)|EVM error|(?:invalid|bad|unknown) (?:opcode|instruction|jump)|InvalidJump|InvalidOpcode|StaticCallViolation|StateChangeDuringStaticCall|precompile(?:d)? (?:contract )?(?:failed|error)/i;

/** The contract or the EVM ended the call, so it would also fail in the chain; false for a node fault. */
export function isExecutionFailure(refusal: ReaderError): boolean {
  const { rpcCode, said } = refusal.context;
  const message = typeof said === 'string' ? said : '';
  return (
    isRevert({ code: typeof rpcCode === 'number' ? rpcCode : 0, message }) || EXECUTION_FAILED.test(message)
  );
}

/** One line of printable ASCII, at most 200 characters. */
export function failureDetail(refusal: ReaderError): string {
  const { said, data } = refusal.context;
  const reason = typeof data === 'string' ? reasonOf(data) : undefined;
  return plainLine(reason ?? (typeof said === 'string' ? said : refusal.message));
}

/** A contract chooses this text: it must not break a log, a terminal or a page. */
function plainLine(text: string): string {
  return text
    .replace(/[^\x21-\x7e]+/g, ' ')
    .trim()
    .slice(0, DETAIL_MAX);
}

function reasonOf(data: string): string | undefined {
  const selector = data.slice(0, ERROR_SELECTOR.length);
  const [type] = selector === ERROR_SELECTOR ? ['string'] : selector === PANIC_SELECTOR ? ['uint256'] : [];
  if (type === undefined) {
    if (data.length < ERROR_SELECTOR.length) return undefined;
    return `reverted with ${KNOWN_ERRORS[selector] ?? `the error ${selector}`}`;
  }
  try {
    const [value] = AbiCoder.defaultAbiCoder()
      .decode([type], `0x${data.slice(selector.length)}`)
      .toArray() as unknown[];
    return type === 'string'
      ? `reverted: ${String(value)}`
      : `reverted: panic 0x${BigInt(value as bigint).toString(16)}`;
  } catch {
    return `reverted with malformed data (${selector})`;
  }
}
