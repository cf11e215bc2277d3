/** Thrown for what this driver cannot do; answered as `skipped`, which is neither a pass nor an error of the library. */
export class Skipped extends Error {}
