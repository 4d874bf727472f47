/** The payment asked for is not possible; the message says what to mend. */
export class DevnetRefusal extends Error {}
