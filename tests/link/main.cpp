// That it links with the whole archive of one layer (tfvm_link_test) is the test.
int main() { return 0; }
